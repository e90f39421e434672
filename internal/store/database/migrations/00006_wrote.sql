-- +goose Up
ALTER TABLE chats ADD COLUMN wrote BIGINT NOT NULL DEFAULT 0; -- fence of the last lease with which something was written
UPDATE chats SET wrote = fence;

-- +goose Down
ALTER TABLE chats DROP COLUMN wrote;
