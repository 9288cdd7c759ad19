package import SystemPackage

extension UbiquityContainer {
    /// The directories of a container that hold a store's content each.
    ///
    /// One that holds neither marks of epochs nor a peer's directory, but other directories, is no content: those below it may be.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - files: lists it.
    /// - Returns: their paths below `CoreData`, as in `Notes` or `Shared/Notes`, sorted; none where there is no `CoreData`. What goes meanwhile, and what cannot be listed, is left out.
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

    /// How many directories a content may lie below `CoreData`.
    package static let deepestContent = 8
    /// Where a content has its marks.
    package static let epochsName = "epochs"

    private static func isFolder(_ directory: FilePath, _ files: any FileLayer) -> Bool {
        guard let names = try? files.names(in: directory), !names.contains(where: { isOfContent($0) }) else { return false }
        return names.contains { !ForeignNames.matches($0) && (try? files.kind(of: directory.appending($0))) == .directory }
    }

    /// Whether only a content's own directory holds something of a name.
    package static func isOfContent(_ name: some StringProtocol) -> Bool { name == epochsName || PeerIdentifier(name) != nil }
}
