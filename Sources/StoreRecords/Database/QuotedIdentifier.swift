extension String {
    /// The name as an SQL identifier, whatever it contains; GRDB's own quoting does not double quotes inside.
    package var quotedIdentifier: String {
        // The search for a string costs more than most of the statements that the name is put into.
        utf8.contains(UInt8(ascii: "\"")) ? "\"\(replacing("\"", with: "\"\""))\"" : "\"\(self)\""
    }
}
