-- The same for SQLite and PostgreSQL. Times are nanoseconds since 1970, but those of processes. What comes from
-- outside and may have any bytes is BYTEA, which SQLite takes as it is.

-- +goose Up
CREATE TABLE processes (
    id TEXT PRIMARY KEY,
    era TEXT NOT NULL,       -- the clock of expires: the boot of the machine, '' for the server's
    expires BIGINT NOT NULL  -- milliseconds of that clock
);

CREATE TABLE chats (
    id TEXT PRIMARY KEY,
    subject BYTEA NOT NULL,  -- who began it
    created BIGINT NOT NULL,
    used BIGINT NOT NULL,
    runs BIGINT NOT NULL,
    packages TEXT NOT NULL,
    loss TEXT NOT NULL,
    fence BIGINT NOT NULL,
    wanted BIGINT NOT NULL,  -- 1 when another process than the holder asks for it
    holder TEXT REFERENCES processes (id) ON DELETE SET NULL
);
CREATE INDEX chats_subject ON chats (subject);
CREATE INDEX chats_holder ON chats (holder);

-- A path may be longer than an entry of an index, so its SHA-256 stands for it.
CREATE TABLE files (
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    path_hash BYTEA NOT NULL,
    path BYTEA NOT NULL,
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    media TEXT NOT NULL,
    stamp BYTEA NOT NULL,
    saved BIGINT NOT NULL,   -- 0 without content
    PRIMARY KEY (chat, path_hash)
);
CREATE INDEX files_hash ON files (hash);

CREATE TABLE results (
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    run BIGINT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    media TEXT NOT NULL,
    place BIGINT NOT NULL,   -- grows with each result of the chat
    PRIMARY KEY (chat, run, name)
);
CREATE INDEX results_hash ON results (hash);

CREATE TABLE turns (
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    begun BIGINT NOT NULL,
    message BYTEA NOT NULL,
    words BYTEA NOT NULL,
    steps BYTEA NOT NULL,    -- JSON
    runs BYTEA NOT NULL,     -- JSON
    PRIMARY KEY (chat, number)
);

CREATE TABLE checkpoints (
    chat TEXT PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    bound TEXT NOT NULL,
    turn BIGINT NOT NULL
);

-- +goose Down
DROP TABLE checkpoints;
DROP TABLE turns;
DROP TABLE results;
DROP TABLE files;
DROP TABLE chats;
DROP TABLE processes;
