-- +goose Up
ALTER TABLE checkpoints ADD COLUMN interrupted BIGINT NOT NULL DEFAULT 0; -- 1 when code ran in it, in a turn that is not kept

-- +goose Down
ALTER TABLE checkpoints DROP COLUMN interrupted;
