package app_test

import "testing"

func worldCases(t *testing.T, data string)   {}
func chatCases(t *testing.T, data string)    {}
func messageCases(t *testing.T, data string) {}
func libraryCases(t *testing.T, data string) {}
