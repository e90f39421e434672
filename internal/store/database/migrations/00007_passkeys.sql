-- Passkeys of people who sign in, and what their browsers are asked to sign (Web Authentication, level 3). Times are
-- nanoseconds since 1970.

-- +goose Up
CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,          -- ours, for people and pages
    subject TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential BYTEA NOT NULL UNIQUE, -- its id, as the authenticator has given it
    public_key BYTEA NOT NULL,    -- COSE
    signatures BIGINT NOT NULL,   -- how many it has made, as it says; 0 when it does not count
    transports TEXT NOT NULL,     -- how a browser reaches it, separated by spaces
    eligible BIGINT NOT NULL,     -- 1 when it can be copied to other devices of its owner
    backed_up BIGINT NOT NULL,    -- 1 when it is
    name BYTEA NOT NULL,          -- for people
    created BIGINT NOT NULL,
    used BIGINT NOT NULL          -- 0: never
);
CREATE INDEX passkeys_subject ON passkeys (subject);

-- What a browser was asked to have signed last. It is good once.
CREATE TABLE challenges (
    browser BYTEA PRIMARY KEY,    -- SHA-256 of the cookie that it goes with
    challenge BYTEA NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX challenges_created ON challenges (created);
CREATE INDEX challenges_expires ON challenges (expires);

-- +goose Down
DROP TABLE challenges;
DROP TABLE passkeys;
