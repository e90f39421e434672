-- People who sign in through an OpenID provider. Times are nanoseconds since 1970.

-- +goose Up
-- Who a user is at a provider. Issuer and external are the provider's; an address of e-mail is no name for anybody.
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    external TEXT NOT NULL,  -- the subject there
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created BIGINT NOT NULL,
    PRIMARY KEY (issuer, external)
);
CREATE INDEX identities_user ON identities (user_id);

-- Sign-ins whose people are at the provider now.
CREATE TABLE departures (
    hash BYTEA PRIMARY KEY,  -- SHA-256 of the state
    browser BYTEA NOT NULL,  -- SHA-256 of the cookie of the browser, where nobody is signed in
    attempt BYTEA NOT NULL,  -- JSON
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX departures_browser ON departures (browser, created);
CREATE INDEX departures_created ON departures (created);
CREATE INDEX departures_expires ON departures (expires);

-- +goose Down
DROP TABLE departures;
DROP TABLE identities;
