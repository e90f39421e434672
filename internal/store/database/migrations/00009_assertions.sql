-- By what clients have proved who they are, so that none of it proves it again (RFC 7523, 3).

-- +goose Up
CREATE TABLE assertions (
    hash BYTEA PRIMARY KEY, -- SHA-256 of the client and the id that it gave
    expires BIGINT NOT NULL
);
CREATE INDEX assertions_expires ON assertions (expires);

-- +goose Down
DROP TABLE assertions;
