package import SystemPackage

extension UbiquityContainer {
    /// Returns the directories of a container that each contain a store's content.
    ///
    /// A directory is not a content if it contains neither epoch marks nor a peer's directory, but other directories.
    /// The directories below it may be contents.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - files: the layer that lists it.
    /// - Returns: their paths below `CoreData`, such as `Notes` or `Shared/Notes`, sorted; none if there is no
    ///   `CoreData`. Directories that disappear meanwhile or cannot be listed are left out.
    package static func storeContents(of container: FilePath, _ files: any FileLayer) -> [String] {
        var contents: [String] = []
        let stores = container.appending(storesName)
        var folders = [(path: stores, name: "", depth: 0)]
        while let folder = folders.popLast() {
            for name in (try? files.names(in: folder.path)) ?? [] where !ForeignNames.matches(name) {
                let path = folder.path.appending(name)
                guard (try? files.kind(of: path)) == .directory else { continue }
                let content = folder.name.isEmpty ? name : "\(folder.name)/\(name)"
                if folder.depth < deepestContent, isFolder(path, files) {
                    folders.append((path, content, folder.depth + 1))
                } else {
                    contents.append(content)
                }
            }
        }
        return contents.sorted()
    }

    /// The greatest depth of a content below `CoreData`, in directories.
    package static let deepestContent = 8
    /// The directory of a content's epoch marks.
    package static let epochsName = "epochs"

    private static func isFolder(_ directory: FilePath, _ files: any FileLayer) -> Bool {
        guard let names = try? files.names(in: directory), !names.contains(where: { isOfContent($0) }) else { return false }
        return names.contains { !ForeignNames.matches($0) && (try? files.kind(of: directory.appending($0))) == .directory }
    }

    /// Returns whether only a content's own directory contains an entry of this name.
    package static func isOfContent(_ name: some StringProtocol) -> Bool { name == epochsName || PeerIdentifier(name) != nil }
}
