package chat

import "context"

// Delete removes a chat with its interpreter and files, as its age does, when a test wants it. It
// waits for a turn that is under way; turns that wait behind it find the chat unknown.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	c, err := s.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if err := s.enter(ctx, c, nil); err != nil {
		return err
	}
	defer c.leave()
	return s.remove(ctx, c)
}
