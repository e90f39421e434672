-- +goose Up
ALTER TABLE chats ADD COLUMN replay BIGINT NOT NULL DEFAULT 0;  -- 1 when runs are to be executed again before the next one, 2 when for the first time here
ALTER TABLE chats ADD COLUMN horizon BIGINT NOT NULL DEFAULT 0; -- the first turn after which the files are known
UPDATE chats SET horizon = COALESCE((SELECT MAX(number) FROM turns WHERE turns.chat = chats.id), 0);

-- A turn's manifest are the rows of files and of versions that were there after it: only what changes is stored anew.
ALTER TABLE files ADD COLUMN since BIGINT NOT NULL DEFAULT 0;   -- the turn that has left it so
CREATE TABLE versions (
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    path_hash BYTEA NOT NULL,
    path BYTEA NOT NULL,
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    media TEXT NOT NULL,
    stamp BYTEA NOT NULL,
    saved BIGINT NOT NULL,
    since BIGINT NOT NULL,
    gone BIGINT NOT NULL,    -- the turn that has left it otherwise
    PRIMARY KEY (chat, path_hash, since)
);
CREATE INDEX versions_hash ON versions (hash);
CREATE INDEX versions_gone ON versions (chat, gone);

CREATE TABLE kept_checkpoints (
    chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    past BIGINT NOT NULL,    -- 1 for the one before the latest
    folder TEXT NOT NULL,
    bound TEXT NOT NULL,
    turn BIGINT NOT NULL,
    interrupted BIGINT NOT NULL,
    bytes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (chat, past)
);
INSERT INTO kept_checkpoints (chat, past, folder, bound, turn, interrupted) SELECT chat, 0, folder, bound, turn, interrupted FROM checkpoints;
DROP TABLE checkpoints;
ALTER TABLE kept_checkpoints RENAME TO checkpoints;

-- +goose Down
DELETE FROM checkpoints WHERE past = 1;
CREATE TABLE kept_checkpoints (
    chat TEXT PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    bound TEXT NOT NULL,
    turn BIGINT NOT NULL,
    interrupted BIGINT NOT NULL DEFAULT 0
);
INSERT INTO kept_checkpoints (chat, folder, bound, turn, interrupted) SELECT chat, folder, bound, turn, interrupted FROM checkpoints;
DROP TABLE checkpoints;
ALTER TABLE kept_checkpoints RENAME TO checkpoints;
DROP TABLE versions;
ALTER TABLE files DROP COLUMN since;
ALTER TABLE chats DROP COLUMN horizon;
ALTER TABLE chats DROP COLUMN replay;
