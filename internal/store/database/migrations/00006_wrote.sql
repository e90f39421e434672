-- +goose Up
ALTER TABLE chats ADD COLUMN wrote BIGINT NOT NULL DEFAULT 0; -- fence of the last lease with which something was written
UPDATE chats SET wrote = fence;
ALTER TABLE processes ADD COLUMN suspected BIGINT NOT NULL DEFAULT 0; -- 1 when another process has found it silent once

-- +goose Down
ALTER TABLE processes DROP COLUMN suspected;
ALTER TABLE chats DROP COLUMN wrote;
