/// The version that every tool of the package prints for `--version`.
package enum ToolVersion {
    /// The current version.
    package static let text = "0.1.0"
}
