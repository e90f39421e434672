-- +goose Up
ALTER TABLE checkpoints ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0; -- that its folder alone takes on the disk

-- +goose Down
ALTER TABLE checkpoints DROP COLUMN bytes;
