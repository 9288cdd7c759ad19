package import FileCoordination
internal import SystemPackage
internal import UbiquityContainers

/// The path of a document that a cloud carries, relative to the directory of an account's containers.
///
/// A document is a file, or a file package as a whole, that a user or an app writes: anything in a container except the files
/// of stores, marks, and what never leaves a device. Other paths have no value of this type, so a transfer touches nothing
/// outside the containers, whatever a bulletin says.
package struct DocumentPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The path, with `/` between its components.
    package let description: String

    /// The longest path in bytes.
    static let longest = 1024

    /// Parses a path.
    ///
    /// The result is nil for an absolute path, one with `..`, and one of a file that is no document.
    ///
    /// - Parameter text: `<container>/<name>…`.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest else { return nil }
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count >= 2, (try? ContainerIdentifier(String(names[0]))) != nil, names.dropFirst().allSatisfy({ Self.isName(String($0)) }),
            ![UbiquityContainer.markDirectoryName, UbiquityContainer.storesName].contains(String(names[1]))
        else { return nil }
        description = text
    }

    /// Whether a name can be a document's, a file's in a package, or a directory's above them.
    static func isName(_ name: String) -> Bool {
        guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 255 else { return false }
        // A store's content can lie anywhere in a container; a peer's directory shows it.
        return !ForeignNames.staysHere(name) && !ForeignNames.matches(name) && PeerIdentifier(name) == nil
            && !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }

    // By bytes: two spellings of one text are two names.
    package static func == (left: Self, right: Self) -> Bool { left.description.utf8.elementsEqual(right.description.utf8) }
    package static func < (left: Self, right: Self) -> Bool { left.description.utf8.lexicographicallyPrecedes(right.description.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = description
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The container, its first component.
    package var container: String { String(description.prefix { $0 != "/" }) }
    /// The directory in which the document lies.
    package var directory: String { String(description[..<description.lastIndex(of: "/")!]) }
    /// The last component.
    package var name: String { String(description[description.index(after: description.lastIndex(of: "/")!)...]) }

    /// Returns the document of which a path is a part: the path itself, or the outermost package above it.
    ///
    /// - Parameters:
    ///   - text: a path below the account's containers.
    ///   - packages: the rule that tells which directories are packages.
    package init?(of text: String, _ packages: FilePackages) {
        let names = text.split(separator: "/")
        guard names.count >= 2 else { return nil }
        for count in 2..<names.count where names.count > 2 {
            let above = names[..<count].joined(separator: "/")
            if packages.contains(FilePath("/" + above)) {
                self.init(above)
                return
            }
        }
        self.init(text)
    }
}
