package import Foundation
package import SystemPackage
package import UbiquityContainers

/// The entries of a container with their sizes and times, without their contents.
package struct ContainerListing: Sendable, Encodable {
    /// One entry.
    package struct Entry: Sendable, Encodable {
        /// The path below the container.
        package var path: String
        package var kind: FileFacts.Kind
        /// The size in bytes; only for files.
        package var size: Int64?
        package var modified: Date
    }

    /// The entries, sorted by path, with their real names.
    package var entries: [Entry] = []
    /// The directories that could not be listed, with the reasons.
    package var faults: [String: String] = [:]

    /// Lists a container; links are not followed.
    ///
    /// - Parameters:
    ///   - container: its directory. The call blocks while it reads directories.
    ///   - names: redacts names; nil shows them.
    package init(of container: FilePath, names: RedactedNames?) { list(FilePath(), of: container, names) }

    private mutating func list(_ directory: FilePath, of container: FilePath, _ names: RedactedNames?) {
        func shown(_ path: FilePath) -> String { (names?.path(path) ?? path).string }
        do {
            for name in try LinuxFileLayer().names(in: container.pushing(directory)).sorted() {
                let path = directory.appending(name)
                guard let facts = try FileFacts(of: container.pushing(path)) else { continue }
                entries.append(
                    Entry(path: shown(path), kind: facts.kind, size: facts.kind == .file ? facts.size : nil, modified: facts.modificationDate))
                if facts.kind == .directory { list(path, of: container, names) }
            }
        } catch {
            faults[shown(directory)] = "\(error)"
        }
    }
}
