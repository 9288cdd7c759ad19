internal import CLinux
internal import ContentHashing
internal import FileCoordination
internal import Foundation
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import UbiquityContainers

extension DocumentDisk {
    // MARK: Evicting

    /// Replaces a document by its placeholder; the caller holds a coordinated write of it.
    ///
    /// The placeholder is written first, so that the name always has the one or the other. A lease proves that no program has
    /// the document open, and that none tries to until its bytes are gone. The bytes are read once more behind the rename.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - content: the content that the cloud has.
    /// - Throws: ``Fault`` if it is open, or has other bytes; then it is as it was. `Errno`.
    package func evict(_ path: DocumentPath, _ content: DocumentContent) async throws {
        try await blocking { try evictNow(path, content) }
    }

    private func evictNow(_ path: DocumentPath, _ content: DocumentContent) throws {
        let file = file(at: path)
        guard try isReached(file), try files.kind(of: file) == (content.isPackage ? .directory : .file) else { throw Fault("it is not here") }
        guard content.files.count <= FileLeases.most else { throw Fault("it is a package of more than \(FileLeases.most) files") }
        let leases = try FileLeases.excludingAll(content.files.map { $0.path.isEmpty ? file : file.pushing(FilePath($0.path)) })
        defer { leases.end() }
        DocumentPoint.leased.pass()
        try write(placeholder(path, content, isEvicted: true), for: file, isDurable: true)
        DocumentPoint.veiled.pass()
        let top = evictingDirectory.appending(UUID().uuidString.lowercased())
        let staged = top.pushing(FilePath(path.description))
        do {
            try makeDirectories(evictingDirectory, below: staging)
            try makeDirectories(staged.removingLastComponent(), below: evictingDirectory)
            try files.renameNew(file, to: staged)
        } catch {
            try? files.remove(Placeholder.path(of: file))
            throw error
        }
        DocumentPoint.moved.pass()
        do {
            try check(staged, content, leases)
            try files.syncDirectory(file.removingLastComponent())
        } catch {
            try files.renameNew(staged, to: file)
            try files.remove(Placeholder.path(of: file))
            throw error
        }
        DocumentPoint.checked.pass()
        discardNow(top)
        DocumentPoint.unlinked.pass()
    }

    /// Checks that what was renamed is what the cloud has, and that nobody has opened it since.
    private func check(_ staged: FilePath, _ content: DocumentContent, _ leases: FileLeases) throws {
        guard try reader.isSame(staged, as: content, readingBy: leases.files) else { throw Fault("it has been changed") }
        guard try !holdsLocals(staged) else { throw Fault("it holds files that never leave this device") }
        guard leases.stand else { throw Fault("another program opens it") }
    }

    /// Whether a package holds what does not travel.
    func holdsLocals(_ package: FilePath) throws -> Bool {
        guard try files.kind(of: package) == .directory else { return false }
        for name in try files.directoryNames(in: package) ?? [] {
            if !DocumentPath.isName(name) { return true }
            if try holdsLocals(package.appending(name)) { return true }
        }
        return false
    }

    /// Ends what a killed eviction has left: what the placeholder stands for goes, anything else comes back.
    package func recover() async {
        try? await blocking { try recoverNow() }
    }

    private func recoverNow() throws {
        for name in try files.directoryNames(in: evictingDirectory) ?? [] {
            let top = evictingDirectory.appending(name)
            let failed = documents(below: top).filter { staged in
                do { try recover(staged, below: top) } catch { return true }
                return false
            }
            if failed.isEmpty { discardNow(top) }
        }
    }

    private func recover(_ staged: FilePath, below top: FilePath) throws {
        var rest = staged
        guard rest.removePrefix(top) else { return }
        let file = directory.pushing(rest)
        let placeholder = Placeholder(at: Placeholder.path(of: file))
        // What cannot be read whole comes back as it is.
        let content = try? reader.content(of: staged)?.content
        if let placeholder, placeholder.sha256 == content?.hash.description, try !holdsLocals(staged) { return }
        try makeDirectories(above: file)
        // A newer item can have the name.
        let isFree = try files.kind(of: file) == nil
        try files.renameNew(staged, to: isFree ? file : aside(file))
        if placeholder != nil { try files.remove(Placeholder.path(of: file)) }
    }

    private func documents(below directory: FilePath) -> [FilePath] {
        var found: [FilePath] = []
        for name in (try? files.directoryNames(in: directory)) ?? [] {
            let path = directory.appending(name)
            if (try? files.kind(of: path)) == .directory, !packages.contains(path) || path.components.count <= evictingDirectory.components.count + 2
            {
                found += documents(below: path)
            } else {
                found.append(path)
            }
        }
        return found
    }
}
