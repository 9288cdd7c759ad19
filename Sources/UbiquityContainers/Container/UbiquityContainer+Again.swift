internal import SystemPackage

extension UbiquityContainer {
    /// Makes the container again, empty, where it is gone, and attaches this device to it once more.
    ///
    /// Nothing else makes a container that is gone: it may have been deleted on purpose, or be late. Call this when a person has said that the app is to begin
    /// again in it. What is there already stays, and what a synchroniser still brings arrives in it. Content of stores is not made again: a store whose content is
    /// gone waits for its own ``ContainerEvent`` to be answered.
    ///
    /// A crash in between leaves a container without this device's mark, as it was before; the next call goes on.
    ///
    /// - Throws: `ContainerError`: `signedOut` where the container's account is not signed in, `rootUnavailable`, or `fileSystem`.
    public func beginAgain() async throws(ContainerError) {
        do {
            try await blocking { try attachAgain() }
        } catch let error as ContainerError {
            throw error
        } catch {
            throw ContainerError(.fileSystem, "The container \(path) cannot be made again.", path: path, cause: error)
        }
    }

    private func attachAgain() throws(ContainerError) {
        guard let (name, record) = try home.signedIn, name == account else {
            throw ContainerError(.signedOut, "\(account) is not signed in at \(home.path); sign in first.", path: home.path)
        }
        let homeFiles = HomeFiles(home: home)
        if record.containersRoot != nil { try homeFiles.requireDirectory(home.root(of: record), as: "containers root") }
        try homeFiles.locked { () throws(ContainerError) in
            try makeAgain()
            // Last: until it is there nothing counts as attached.
            try AttachmentMark(peer: peer).write(into: markDirectory, files: files)
        }
    }
}
