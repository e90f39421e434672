-- Who may call: accounts, what they have allowed to which clients, and what proves it. Tokens, codes and the cookies
-- of browsers are here as their SHA-256 only. Times are nanoseconds since 1970.

-- +goose Up
CREATE TABLE users (
    id TEXT PRIMARY KEY,     -- the subject; never given to anybody else
    name TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,  -- hashed, with its parameters
    admin BIGINT NOT NULL,
    disabled BIGINT NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE browsers (
    hash BYTEA PRIMARY KEY,
    subject TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX browsers_subject ON browsers (subject);
CREATE INDEX browsers_expires ON browsers (expires);

-- Requests that wait for a person to say yes or no.
CREATE TABLE consents (
    hash BYTEA PRIMARY KEY,
    browser BYTEA NOT NULL REFERENCES browsers (hash) ON DELETE CASCADE,
    request BYTEA NOT NULL,  -- JSON
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX consents_browser ON consents (browser);
CREATE INDEX consents_expires ON consents (expires);

CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    metadata BYTEA NOT NULL, -- JSON
    secret BYTEA NOT NULL,   -- SHA-256, empty for none
    manual BIGINT NOT NULL,  -- 1 when the operator has registered it
    created BIGINT NOT NULL,
    used BIGINT NOT NULL     -- 0: never
);
CREATE INDEX clients_used ON clients (manual, used, created);

-- What a person has allowed: all tokens that came of one consent are one family.
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    client TEXT NOT NULL,    -- '' for a token that was made at the command line
    name BYTEA NOT NULL,
    host BYTEA NOT NULL,     -- where its code was sent to
    scopes TEXT NOT NULL,    -- separated by spaces
    resource TEXT NOT NULL,  -- '' for whatever this server is called
    created BIGINT NOT NULL,
    used BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX grants_subject ON grants (subject);
CREATE INDEX grants_client ON grants (client);
CREATE INDEX grants_expires ON grants (expires);

CREATE TABLE codes (
    hash BYTEA PRIMARY KEY,
    subject TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    request BYTEA NOT NULL,  -- JSON
    grant_id TEXT NOT NULL,  -- of the grant that it gives
    spent BIGINT NOT NULL,   -- 0: not yet
    expires BIGINT NOT NULL
);
CREATE INDEX codes_subject ON codes (subject);
CREATE INDEX codes_expires ON codes (expires);

CREATE TABLE tokens (
    hash BYTEA PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,      -- 'access' or 'refresh'
    scopes TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    spent BIGINT NOT NULL,   -- when a refresh token was used, 0: not yet
    repeats BIGINT NOT NULL  -- how often it was used again within the grace
);
CREATE INDEX tokens_grant ON tokens (grant_id, kind, created);
CREATE INDEX tokens_expires ON tokens (expires);

-- +goose Down
DROP TABLE tokens;
DROP TABLE codes;
DROP TABLE grants;
DROP TABLE clients;
DROP TABLE consents;
DROP TABLE browsers;
DROP TABLE users;
