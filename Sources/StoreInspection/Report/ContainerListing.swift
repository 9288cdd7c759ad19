package import Foundation
package import SystemPackage
package import UbiquityContainers

/// What lies in a container: every entry, with size and time, and nothing of what is in it.
package struct ContainerListing: Sendable, Encodable {
    /// One entry.
    package struct Entry: Sendable, Encodable {
        /// From the container on.
        package var path: String
        package var kind: FileFacts.Kind
        /// In bytes; of files.
        package var size: Int64?
        package var modified: Date
    }

    /// By path, as the entries are really called.
    package var entries: [Entry] = []
    /// What could not be listed, and why.
    package var faults: [String: String] = [:]

    /// Lists a container; links are not followed.
    ///
    /// - Parameters:
    ///   - container: its directory. Blocks while it reads directories.
    ///   - names: hides names; nil shows them.
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
