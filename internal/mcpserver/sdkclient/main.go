// Command sdkclient is the driver of the official Go SDK among those that .ci/clients
// runs; .ci/clients.d/README.md says what a driver does. It is no part of the program.
//
//	sdkclient PICTURE REVISION http URL
//	sdkclient PICTURE REVISION stdio PROGRAM ARGUMENT...
//	sdkclient PICTURE REVISION signin URL
//
// PICTURE is a file of Python that shows a picture. With signin people sign in to the server; who they are is in
// the environment.
//
// # Trust
//
// It believes nothing that the server answers: that is what it is for.
//
// # Failure
//
// The first thing that is not as it must be is written to standard error, and ends
// the program with status 1.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) < 4 {
		return errors.New("call it as sdkclient PICTURE REVISION http URL, with signin in place of http, or sdkclient PICTURE REVISION stdio PROGRAM ARGUMENT")
	}
	picture, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the picture: %w", err)
	}
	revision, target := args[1], args[3:]
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	var app *app
	switch args[2] {
	case "stdio":
		command := exec.CommandContext(ctx, target[0], target[1:]...)
		command.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: command}
	case "signin":
		if app, err = newApp(target[0]); err != nil {
			return err
		}
		transport = &mcp.StreamableClientTransport{Endpoint: target[0], OAuthHandler: app.handler}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "driver", Version: "1"}, nil).
		Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	d, did := driver{session, string(picture)}, "tool, chat, file, list, picture"
	if app != nil {
		did, err = app.live(ctx, d)
	} else {
		err = d.drive(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Println(session.InitializeResult().ProtocolVersion, did)
	return nil
}

type driver struct {
	*mcp.ClientSession
	picture string // the code that shows one
}

var chatLine = regexp.MustCompile(`chat_id: ([a-z2-7]{26})$`)

// oneTool lists the tools.
func (d driver) oneTool(ctx context.Context) error {
	tools, err := d.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	if len(tools.Tools) != 1 || tools.Tools[0].Name != "chat" {
		return fmt.Errorf("tools are %v, want chat alone", tools.Tools)
	}
	return nil
}

// drive does what each driver does.
func (d driver) drive(ctx context.Context) error {
	if err := d.oneTool(ctx); err != nil {
		return err
	}
	first, _, err := d.chat(ctx, "x = 1+1\nx", "")
	if err != nil {
		return err
	}
	found := chatLine.FindStringSubmatch(first)
	if found == nil || !strings.Contains(first, "2") {
		return fmt.Errorf("the first call got %q", first)
	}
	if err := d.file(ctx, found[1]); err != nil {
		return err
	}
	_, content, err := d.chat(ctx, d.picture, found[1])
	if err != nil {
		return err
	}
	for _, c := range content {
		if c, ok := c.(*mcp.ImageContent); ok && c.MIMEType == "image/png" && bytes.HasPrefix(c.Data, []byte("\x89PNG")) {
			return nil
		}
	}
	return fmt.Errorf("no picture in %v", content)
}

// file makes a file, finds it in the list and reads it.
func (d driver) file(ctx context.Context, chat string) error {
	const name = "a file ü.txt"
	text, content, err := d.chat(ctx, fmt.Sprintf("print(x, file=open(%q, 'w'))", name), chat)
	if err != nil {
		return err
	}
	if !strings.Contains(text, "state: kept") {
		return fmt.Errorf("the second call got %q", text)
	}
	link := &mcp.ResourceLink{}
	for _, c := range content {
		if c, ok := c.(*mcp.ResourceLink); ok {
			link = c
		}
	}
	if link.Name != name {
		return fmt.Errorf("no link to the file in %v", content)
	}
	listed, err := d.ListResources(ctx, nil)
	if err != nil {
		return fmt.Errorf("list resources: %w", err)
	}
	if !slices.ContainsFunc(listed.Resources, func(r *mcp.Resource) bool { return r.URI == link.URI }) {
		return fmt.Errorf("%s is not listed", link.URI)
	}
	read, err := d.ReadResource(ctx, &mcp.ReadResourceParams{URI: link.URI})
	if err != nil {
		return fmt.Errorf("read %s: %w", link.URI, err)
	}
	if len(read.Contents) != 1 || read.Contents[0].Text != "2\n" {
		return fmt.Errorf("%s is %v", link.URI, read.Contents)
	}
	return nil
}

// chat calls the tool and returns what a model reads, and all of the content.
func (d driver) chat(ctx context.Context, message, chat string) (text string, content []mcp.Content, err error) {
	arguments := map[string]any{"message": message}
	if chat != "" {
		arguments["chat_id"] = chat
	}
	result, err := d.CallTool(ctx, &mcp.CallToolParams{Name: "chat", Arguments: arguments})
	if err != nil {
		return "", nil, fmt.Errorf("call the tool: %w", err)
	}
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	if result.IsError {
		return "", nil, fmt.Errorf("the call failed: %s", text)
	}
	return text, result.Content, nil
}
