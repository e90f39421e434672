package app_test

import "testing"

func libraryCases(t *testing.T, data string) {}
