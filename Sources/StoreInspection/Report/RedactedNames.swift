internal import FileCoordination
internal import StoreExchange
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// The names of a container's entries for somebody who is not to learn how its documents are called.
///
/// Each component of a path becomes the first half of its SHA-256, so that one name is told from another, here and in another device's report; an extension that everybody
/// knows stays, and so does what marks a conflict copy. What else stands behind a dot may be a part of the name. Who guesses a name can check the guess. What this package
/// names itself stays as it is.
package struct RedactedNames: Sendable {
    /// Redacts.
    package init() {}

    /// A path below a container.
    ///
    /// - Parameter path: from the container on.
    /// - Returns: the same with other names.
    package func path(_ path: FilePath) -> FilePath {
        let names = path.components.map(\.string)
        var redacted = FilePath()
        for (depth, name) in names.enumerated() { redacted.append(isKnown(name, depth: depth, below: names[0]) ? name : self.name(name)) }
        return redacted
    }

    /// Whether a name is one that says nothing of what a user keeps.
    private func isKnown(_ name: String, depth: Int, below first: String) -> Bool {
        switch (first, depth) {
        case (_, 0): [UbiquityContainer.markDirectoryName, UbiquityContainer.storesName, "Documents"].contains(name)
        case (UbiquityContainer.markDirectoryName, 1): PeerIdentifier(name) != nil
        // The content's name is the app's.
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

    /// The extensions that say nothing but of what kind a file is, or that it never leaves the device.
    private static let extensions: Set = [
        "csv", "docx", "gif", "heic", "html", "jpeg", "jpg", "json", "md", "mov", "mp3", "mp4", "nosync", "pdf", "png", "pptx", "sqlite", "tmp",
        "txt", "ubbaseline", "ublog", "xlsx", "xml", "zip",
    ]

    /// One name.
    ///
    /// - Parameter name: as it is.
    /// - Returns: sixteen hexadecimal digits, and what may stay.
    package func name(_ name: String) -> String {
        if let conflict = ConflictName(name) {
            let original = FilePath.Component(self.name(conflict.original))!
            return "\(original.stem).sync-conflict-\(conflict.stamp)\(original.extension.map { ".\($0)" } ?? "")"
        }
        let component = FilePath.Component(name)!
        let digits = ContentHash(of: Array(component.stem.utf8)).description.prefix(16)
        guard let end = component.extension, Self.extensions.contains(end.lowercased()) else {
            // With all that follows a dot.
            return String(ContentHash(of: Array(name.utf8)).description.prefix(16))
        }
        return "\(digits).\(end)"
    }
}
