package chat

import (
	"mime"
	"net/http"
	"path"
	"strings"
)

// commonType knows the types that matter here and that not every host's tables have.
func commonType(ext string) string {
	switch ext {
	case ".csv":
		return "text/csv"
	case ".md":
		return "text/markdown"
	case ".py":
		return "text/x-python"
	case ".json":
		return "application/json"
	case ".ipynb":
		return "application/x-ipynb+json"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".txt", ".log":
		return "text/plain"
	case ".dot", ".gv": // of Word templates in many hosts' tables
		return "text/vnd.graphviz"
	case ".npy", ".npz", ".pkl", ".db", ".sqlite":
		return "application/octet-stream"
	}
	return ""
}

// mimeType tells the type of a file by its name, else by its first bytes.
func mimeType(name string, start []byte) string {
	ext := strings.ToLower(path.Ext(name))
	for _, t := range []string{commonType(ext), mime.TypeByExtension(ext), http.DetectContentType(start)} {
		if media, _, err := mime.ParseMediaType(t); err == nil {
			return media
		}
	}
	return "application/octet-stream"
}
