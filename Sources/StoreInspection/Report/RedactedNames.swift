internal import FileCoordination
internal import StoreExchange
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// Redacts the names of a container's entries, so that a reader does not learn the names of documents.
///
/// Each component of a path becomes the first half of its SHA-256, so that different names remain different, in the
/// reports of all devices. A well-known extension stays, and so does the part that marks a conflict copy; any other
/// text after a dot may belong to the name. The hash confirms a guessed name. Names that this package assigns stay.
package struct RedactedNames: Sendable {
    /// Creates a redaction.
    package init() {}

    /// Returns a path below a container with redacted names.
    ///
    /// - Parameter path: the path below the container.
    /// - Returns: the redacted path.
    package func path(_ path: FilePath) -> FilePath {
        let names = path.components.map(\.string)
        var redacted = FilePath()
        for (depth, name) in names.enumerated() { redacted.append(isKnown(name, depth: depth, below: names[0]) ? name : self.name(name)) }
        return redacted
    }

    /// Returns whether a name reveals nothing about a user's items.
    private func isKnown(_ name: String, depth: Int, below first: String) -> Bool {
        switch (first, depth) {
        case (_, 0): [UbiquityContainer.markDirectoryName, UbiquityContainer.storesName, "Documents"].contains(name)
        case (UbiquityContainer.markDirectoryName, 1): PeerIdentifier(name) != nil
        // The app assigns the content's name.
        case (UbiquityContainer.storesName, 1): !ForeignNames.matches(name)
        case (UbiquityContainer.storesName, _): isOurs(name)
        default: false
        }
    }

    private static let directories = [
        "epochs", "values", ContentLayout.baselinesName, ContentLayout.receiptsName, ContentLayout.temporaryName,
    ]

    private func isOurs(_ name: String) -> Bool {
        Self.directories.contains(name) || PeerIdentifier(name) != nil || LogFileName(name) != nil || BaselineName(name) != nil
            || ContentLayout.epoch(ofMark: name) != nil || Receipt.number(ofFile: name) != nil || ContentHash(hexadecimal: name) != nil
    }

    /// The extensions that only tell the type of a file, or that it never leaves the device.
    private static let extensions: Set = [
        "csv", "docx", "gif", "heic", "html", "jpeg", "jpg", "json", "md", "mov", "mp3", "mp4", "nosync", "pdf", "png", "pptx", "sqlite", "tmp",
        "txt", "ubbaseline", "ublog", "xlsx", "xml", "zip",
    ]

    /// Returns one redacted name.
    ///
    /// - Parameter name: the name.
    /// - Returns: sixteen hexadecimal digits, with the parts that may stay.
    package func name(_ name: String) -> String {
        if let conflict = ConflictName(name) {
            let original = FilePath.Component(self.name(conflict.original))!
            return "\(original.stem).sync-conflict-\(conflict.stamp)\(original.extension.map { ".\($0)" } ?? "")"
        }
        let component = FilePath.Component(name)!
        let digits = ContentHash(of: Array(component.stem.utf8)).description.prefix(16)
        guard let end = component.extension, Self.extensions.contains(end.lowercased()) else {
            // The hash covers everything after a dot too.
            return String(ContentHash(of: Array(name.utf8)).description.prefix(16))
        }
        return "\(digits).\(end)"
    }
}
