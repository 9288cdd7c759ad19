/// The version that every tool of the package tells with `--version`.
package enum ToolVersion {
    /// The present version.
    package static let text = "0.1.0"
}
