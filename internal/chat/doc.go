// Package chat runs turns: it finds the chat, runs the code of the message in the
// chat's interpreter, keeps the files, and words the reply.
//
// One turn of a chat runs at a time, in the order in which they came; different
// chats run in parallel. A chat belongs to the subject that began it.
//
// # Trust
//
// Messages and chat ids are hostile. So is all that an interpreter says; it comes
// checked from package kernel and is shown as text, never followed.
//
// # Failure
//
// What the caller or the code did wrong is a [Reply] with IsError. An error is a
// [fault.Error] or ours.
package chat
