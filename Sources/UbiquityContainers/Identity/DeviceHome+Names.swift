package import SystemPackage

/// The names by which people call containers and stores.
extension DeviceHome {
    /// Returns the container that a text names.
    ///
    /// - Parameters:
    ///   - text: a path, or the identifier of a container of the signed-in account.
    ///   - home: the device home; nil if there is none.
    /// - Returns: the container's directory; the text as a path if it is not the name of an existing container.
    package static func container(named text: String, in home: DeviceHome?) -> FilePath {
        let path = FilePath(text)
        // An existing path is what the text says, even if a container has that name too.
        guard isName(text), PathFacts(at: path).kind == .nothing, let home, let root = try? home.containersRoot,
            let account = try? home.account
        else { return path }
        let named = root.appending(account.description).appending(text)
        return PathFacts(at: named).kind == .directory ? named : path
    }

    /// Returns the stores that a text names.
    ///
    /// - Parameters:
    ///   - text: a path, or the content name of a store that this device's apps have opened.
    ///   - home: the device home; nil if there is none.
    /// - Returns: the paths that the apps gave the stores; the text as a path if it is not the name of a known store.
    package static func stores(named text: String, in home: DeviceHome?) -> [FilePath] {
        let path = FilePath(text)
        guard isName(text), PathFacts(at: path).kind == .nothing, let home else { return [path] }
        let named = Set(home.knownStores.filter { $0.content == text }.map(\.path)).sorted().map { FilePath($0) }
        return named.isEmpty ? [path] : named
    }

    private static func isName(_ text: String) -> Bool { !text.isEmpty && !text.contains("/") }
}
