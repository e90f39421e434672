// Package checkpoint keeps images of guests on disk, each as its difference from the image from which its
// guest came, so that a chat whose guest has been put away costs little.
//
// [Write] stores one as a folder that is complete as soon as it has its name; [Open] and [Checkpoint.Unpack]
// make the image of it again. A folder has
//
//	manifest    what the image is bound to and consists of, as JSON and a line with its checksum
//	difference  one zstd stream of records, see difference.go
//	base/       hard links to the files of the image that the difference refers to
//	uploads/    hard links to the files that the host had put into /work of the guest
//
// The links keep a base for as long as something refers to it, whoever removes the folder of that image, and
// nobody has to count. They never leave the file system of the data folder.
//
// # Trust
//
// The folder is the server's own and nobody else writes there. A disk may still lose or change what was
// written: every size is checked and every byte is covered by a checksum before a guest is made of it.
//
// # Failure
//
// What is torn, damaged or of another format is an [UnusableError], always before anything is done with it.
// Other errors are of the disk.
package checkpoint
