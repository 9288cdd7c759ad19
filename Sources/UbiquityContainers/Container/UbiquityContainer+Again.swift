internal import SystemPackage

extension UbiquityContainer {
    /// Creates the container again, empty, after it has gone, and attaches this device to it again.
    ///
    /// Nothing else creates a missing container again: it may have been deleted on purpose, or may arrive late. Call
    /// this after the user has decided that the app starts again. Existing files stay, and a synchroniser can still
    /// bring files. Contents of stores are not created again: a store without its content waits for the answer to its
    /// own ``ContainerEvent``.
    ///
    /// A crash in between leaves a container without this device's mark, as before; the next call continues.
    ///
    /// - Throws: `ContainerError`: `signedOut` when the container's account is not signed in, `rootUnavailable`, or
    ///   `fileSystem`.
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
            // The mark comes last: without it, nothing counts as attached.
            try AttachmentMark(peer: peer, home: home).write(into: markDirectory, files: files)
        }
    }
}
