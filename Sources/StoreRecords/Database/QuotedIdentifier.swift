extension String {
    /// The name as an SQL identifier, whatever it contains; GRDB's own quoting does not double quotes inside.
    package var quotedIdentifier: String { "\"\(replacing("\"", with: "\"\""))\"" }
}
