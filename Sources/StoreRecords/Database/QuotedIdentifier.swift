extension String {
    /// A name as SQL takes it, whatever it holds; GRDB's own quoting leaves quotes within as they are.
    package var quotedIdentifier: String { "\"\(replacing("\"", with: "\"\""))\"" }
}
