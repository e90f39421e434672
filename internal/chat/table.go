package chat

import (
	"slices"
	"strings"
)

const (
	// tableColumns bounds the columns of a table that is shown, those of its index included.
	tableColumns = 100
	// tableRows bounds its rows; guests send 61 at most.
	tableRows = 100
)

// tableText makes a Markdown table of at most most bytes of the cells of the one that a guest
// has sent, whatever else is in that; rows of its middle are left out if need be. It
// returns "" when there is no table, or not even its head and two rows fit.
func tableText(guests string, most int) string {
	lines := strings.Split(strings.Trim(guests, "\n"), "\n")
	if lines[0] == "" {
		return ""
	}
	head := cells(lines[0])
	columns := min(len(head), tableColumns)
	top := rowOf(head, columns) + "\n|" + strings.Repeat(" --- |", columns)
	body := lines[min(2, len(lines)):]
	first, last, size := []string{top}, []string(nil), len(top)
	gap := "|" + strings.Repeat(" … |", columns)
	for i := range len(body) { // from both ends
		at := i / 2
		if i%2 == 1 {
			at = len(body) - 1 - i/2
		}
		row := rowOf(cells(body[at]), columns)
		if i == tableRows || size+len(row)+len(gap)+2 > most {
			first, size = append(first, gap), size+len(gap)+1
			break
		}
		size += len(row) + 1
		if i%2 == 0 {
			first = append(first, row)
		} else {
			last = append(last, row)
		}
	}
	if len(last) == 0 && len(body) > 1 || size > most {
		return ""
	}
	return strings.Join(first, "\n") + below(last)
}

// below joins rows that were taken from the end upwards.
func below(rows []string) string {
	var b strings.Builder
	for _, row := range slices.Backward(rows) {
		b.WriteByte('\n')
		b.WriteString(row)
	}
	return b.String()
}

// rowOf makes a row of as many columns, of cells that may be fewer or more.
func rowOf(all []string, columns int) string {
	var b strings.Builder
	b.WriteByte('|')
	for i := range columns {
		b.WriteByte(' ')
		if i < len(all) {
			b.WriteString(escaped(all[i]))
		}
		b.WriteString(" |")
	}
	return b.String()
}

// cells splits a row of a guest's table, in which a backslash stands before those and before
// bars that belong to a cell.
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), " |")
	var all []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && (line[i+1] == '|' || line[i+1] == '\\'):
			i++
			cell.WriteByte(line[i])
		case c == '|':
			all = append(all, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(c)
		}
	}
	return append(all, strings.TrimSpace(cell.String()))
}
