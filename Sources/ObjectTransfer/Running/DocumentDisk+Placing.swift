internal import CLinux
package import ContentHashing
internal import FileCoordination
internal import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage
internal import UbiquityContainers

extension DocumentDisk {
    // MARK: Placing

    /// Gives a document that has arrived its place.
    ///
    /// - Parameters:
    ///   - staged: what ``assemble(_:)`` has made.
    ///   - path: the document.
    ///   - old: the stamp of what is there and may be replaced; nil if nothing is.
    ///   - copyName: the name under which the old bytes stay beside the document; nil to remove them.
    /// - Returns: the stamp that it has now; nil if something else is there, and nothing has changed.
    /// - Throws: ``Fault`` while it is in use; `Errno`; `CancellationError`.
    package func place(_ staged: FilePath, at path: DocumentPath, over old: DocumentStamp?, keeping copyName: String?) async throws -> DocumentStamp?
    {
        let file = file(at: path)
        try await blocking { try makeDirectories(above: file) }
        return try await coordinated(file, []) {
            guard try isReached(file) else { throw Errno.notDirectory }
            if let old {
                guard try replace(file, by: staged, old, keeping: copyName) else { return nil }
            } else {
                do { try files.renameNew(staged, to: file) } catch .fileExists { return nil }
                try files.syncDirectory(file.removingLastComponent())
            }
            DocumentPoint.placed.pass()
            try files.remove(Placeholder.path(of: file))
            DocumentPoint.unveiled.pass()
            return try reader.stamp(of: file)
        }
    }

    /// Exchanges an item with a staged one, if it still is what it was.
    private func replace(_ file: FilePath, by staged: FilePath, _ old: DocumentStamp, keeping copyName: String?) throws -> Bool {
        guard try reader.stamp(of: file) == old, let before = try reader.lastingStamp(of: file) else { return false }
        // A program that has it open to write would write into what is replaced.
        let leases = try FileLeases.excludingWriters(try reader.files(of: file))
        defer { leases.end() }
        try keepMode(of: file, on: staged)
        let aside = aside(file)
        guard clinux_exchange(AT_FDCWD, staged.string, AT_FDCWD, file.string) == 0 else {
            let error = Errno(rawValue: errno)
            // NFS and some others exchange nothing.
            guard [.invalidArgument, .noFunction, .notSupported].contains(error), try files.kind(of: file) == .file else { throw error }
            if let copyName, link(file.string, file.removingLastComponent().appending(copyName).string) != 0, errno != EEXIST {
                throw Errno(rawValue: errno)
            }
            try files.renameOver(staged, to: file)
            try files.syncDirectory(file.removingLastComponent())
            return true
        }
        do {
            guard try reader.lastingStamp(of: staged) == before, leases.stand else {
                // Somebody has written in between, or is about to; these bytes get their name back.
                guard clinux_exchange(AT_FDCWD, staged.string, AT_FDCWD, file.string) == 0 else { throw Errno(rawValue: errno) }
                return false
            }
            try files.syncDirectory(file.removingLastComponent())
            try keepLocals(of: staged, in: file)
            if let copyName {
                let copy = file.removingLastComponent().appending(copyName)
                do {
                    try files.renameNew(staged, to: copy)
                    try files.syncDirectory(copy.removingLastComponent())
                    return true
                } catch .fileExists {
                    // It is there from an attempt before.
                }
            }
        } catch {
            // What was here is not thrown away then.
            try? files.renameNew(staged, to: aside)
            throw error
        }
        discardNow(staged)
        return true
    }

    /// Where bytes go that cannot stay under the name of a document and must not be lost: a conflict copy beside it.
    func aside(_ file: FilePath) -> FilePath {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return file.removingLastComponent().appending(ConflictName.name(for: file.lastComponent!.string, modified: now, device: "RECOVER"))
    }

    /// Gives a new version the mode of the file that it replaces; whether it may be executed is the version's.
    private func keepMode(of file: FilePath, on staged: FilePath) throws {
        var (old, new) = (Glibc.stat(), Glibc.stat())
        guard lstat(file.string, &old) == 0, lstat(staged.string, &new) == 0, old.st_mode & S_IFMT == S_IFREG, new.st_mode & S_IFMT == S_IFREG
        else { return }
        let readers = (old.st_mode & 0o444) >> 2
        let mode = old.st_mode & 0o666 | (new.st_mode & S_IXUSR != 0 ? readers : 0)
        guard chmod(staged.string, mode) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Moves what never leaves this device from a package that was replaced to the one in its place.
    private func keepLocals(of old: FilePath, in new: FilePath) throws {
        guard try holdsLocals(old) else { return }
        try files.makeDirectory(new)
        for name in try files.directoryNames(in: old) ?? [] {
            if DocumentPath.isName(name) {
                try keepLocals(of: old.appending(name), in: new.appending(name))
            } else {
                try files.renameNew(old.appending(name), to: new.appending(name))
            }
        }
    }

    /// Makes the directories between the root and a file, each durable before the next, and never the root or a container.
    func makeDirectories(above file: FilePath) throws {
        let container = directory.components.count + 1
        guard try files.kind(of: root) == .directory else { throw Errno.noSuchFileOrDirectory }
        var missing: [FilePath] = []
        var place = file.removingLastComponent()
        while place != root {
            switch try files.kind(of: place) {
            case .directory: break
            case nil: missing.append(place)
            case .file, .other: throw Errno.notDirectory
            }
            place.removeLastComponent()
        }
        for place in missing.reversed() {
            // A container is made by the app that uses it, or by its mark's arrival.
            guard place.components.count > container else { throw Errno.noSuchFileOrDirectory }
            try files.makeDirectory(place)
            try files.syncDirectory(place.removingLastComponent())
        }
    }

    /// Whether a document's container is here.
    package func hasContainer(of path: DocumentPath) async -> Bool {
        await (try? blocking { try files.kind(of: directory.appending(path.container)) == .directory }) ?? false
    }

    // MARK: Placeholders

    /// Writes the placeholder of a document that is not here.
    ///
    /// - Returns: false if the document is here.
    package func hold(_ path: DocumentPath, _ content: DocumentContent, isEvicted: Bool) async throws -> Bool {
        try await blocking {
            let file = file(at: path)
            try makeDirectories(above: file)
            guard try isReached(file), try files.kind(of: file) == nil else { return false }
            try write(placeholder(path, content, isEvicted: isEvicted), for: file, isDurable: false)
            return true
        }
    }

    func placeholder(_ path: DocumentPath, _ content: DocumentContent, isEvicted: Bool) -> Placeholder {
        Placeholder(
            name: path.name, size: content.size, sha256: content.hash.description,
            modified: Date(timeIntervalSince1970: Double(content.modified) / 1000), isPackage: content.isPackage, isEvicted: isEvicted)
    }

    func write(_ placeholder: Placeholder, for file: FilePath, isDurable: Bool) throws {
        try makeStaging()
        let draft = staging.appending(UUID().uuidString.lowercased())
        try files.writeNew(draft, placeholder.encoded, syncing: isDurable)
        do {
            try files.renameOver(draft, to: Placeholder.path(of: file))
            if isDurable { try files.syncDirectory(file.removingLastComponent()) }
        } catch {
            try? files.remove(draft)
            throw error
        }
    }

    /// Removes the placeholder of a document that is here.
    package func removeStray(_ path: DocumentPath) async throws {
        try await blocking {
            let file = file(at: path)
            guard try isReached(file), try files.kind(of: file) != nil else { return }
            try files.remove(Placeholder.path(of: file))
        }
    }

    /// Gives a placeholder beside a document that is here a free name, as a copy gets one.
    ///
    /// - Parameters:
    ///   - path: the document that is here.
    ///   - taken: the names that are in use elsewhere.
    /// - Returns: the document for which the placeholder stands now; nil if there is none.
    /// - Throws: `Errno`; `CancellationError`.
    package func renameStray(_ path: DocumentPath, but taken: Set<DocumentPath>) async throws -> DocumentPath? {
        try await blocking {
            let file = file(at: path)
            let veil = Placeholder.path(of: file)
            guard try isReached(file), try files.kind(of: file) != nil, try files.kind(of: veil) != nil else { return nil }
            let (stem, ending) = (file.stem ?? path.name, file.extension.map { ".\($0)" } ?? "")
            for number in 2...1000 {
                let other = file.removingLastComponent().appending("\(stem) \(number)\(ending)")
                guard let name = DocumentPath(String(path.description.dropLast(path.name.count)) + other.lastComponent!.string) else { return nil }
                guard try files.kind(of: other) == nil, !taken.contains(name) else { continue }
                // A name that is too long for the suffix would stand in the file alone.
                guard Placeholder.path(of: other).lastComponent!.string == ".\(other.lastComponent!.string)\(Placeholder.suffix)" else { return nil }
                do {
                    try files.renameNew(veil, to: Placeholder.path(of: other))
                    return name
                } catch .fileExists { continue }
            }
            return nil
        }
    }

    // MARK: Removing

    /// Removes what stands for a document, because it was removed elsewhere, and directories that are empty then.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - old: the stamp of the item that may go; nil if only a placeholder may.
    /// - Returns: false if something else is there, and nothing has changed.
    /// - Throws: ``Fault`` while it is in use, or with files in it that never leave this device; `Errno`; `CancellationError`.
    package func remove(_ path: DocumentPath, _ old: DocumentStamp?) async throws -> Bool {
        let file = file(at: path)
        guard try await blocking({ try isReached(file) }) else {
            guard try await blocking({ try !isBehindLink(file) }) else { throw Fault("it was removed elsewhere, and is behind a link here") }
            return true
        }
        let isDone = try await coordinated(file, .forDeleting) {
            guard try files.kind(of: file) == nil || takeAway(file, old) else { return false }
            try files.remove(Placeholder.path(of: file))
            try files.syncDirectory(file.removingLastComponent())
            return true
        }
        if isDone { try? await blocking { removeEmptyDirectories(above: file) } }
        return isDone
    }

    /// Removes an item, if it still is what it was.
    private func takeAway(_ file: FilePath, _ old: DocumentStamp?) throws -> Bool {
        guard let old, try reader.stamp(of: file) == old, let before = try reader.lastingStamp(of: file) else { return false }
        guard try !holdsLocals(file) else { throw Fault("it was removed elsewhere, and holds files that never leave this device") }
        let leases = try FileLeases.excludingWriters(try reader.files(of: file))
        defer { leases.end() }
        try makeStaging()
        let staged = staging.appending(UUID().uuidString.lowercased())
        try files.renameNew(file, to: staged)
        guard try reader.lastingStamp(of: staged) == before, leases.stand else {
            try files.renameNew(staged, to: file)
            return false
        }
        discardNow(staged)
        return true
    }

    private func removeEmptyDirectories(above file: FilePath) {
        // The container, and what the app has made in it, stay.
        let container = directory.components.count + 1
        var place = file.removingLastComponent()
        while place.components.count > container + 1, rmdir(place.string) == 0 { place.removeLastComponent() }
    }

    // MARK: Conflict copies

    /// Gives a version that lost a conflict its place beside the document; one that is there stays.
    package func placeCopy(_ staged: FilePath, of path: DocumentPath, named name: String) async throws {
        try await blocking {
            let copy = file(at: path).removingLastComponent().appending(name)
            guard try isReached(copy) else { throw Errno.notDirectory }
            do { try files.renameNew(staged, to: copy) } catch .fileExists { return discardNow(staged) }
            try files.syncDirectory(copy.removingLastComponent())
        }
    }

    /// Removes the copy of a version that is in conflict no more, unless somebody has changed it.
    package func dropCopy(of path: DocumentPath, named name: String, holding hash: ContentHash) async throws {
        try await blocking {
            let copy = file(at: path).removingLastComponent().appending(name)
            guard try isReached(copy), let before = try reader.lastingStamp(of: copy), let found = try? reader.content(of: copy)?.content,
                found.hash == hash
            else { return }
            try makeStaging()
            let staged = staging.appending(UUID().uuidString.lowercased())
            try files.renameNew(copy, to: staged)
            guard try reader.lastingStamp(of: staged) == before else { return try files.renameNew(staged, to: copy) }
            discardNow(staged)
        }
    }

    /// The conflict copies, of these names, that somebody has resolved, and those that are gone.
    package func lookAtCopies(of path: DocumentPath, _ names: some Collection<String>) async throws -> (resolved: Set<String>, gone: Set<String>) {
        let names = Array(names)
        let found = try await blocking { () -> [[String]] in
            let directory = file(at: path).removingLastComponent()
            guard try isReached(directory.appending("x")) else { return [[], []] }
            let copies = names.map { ($0, ConflictCopy(at: directory.appending($0))) }
            return [copies.filter { $0.1?.isResolved == true }.map(\.0), copies.filter { $0.1 == nil }.map(\.0)]
        }
        return (Set(found[0]), Set(found[1]))
    }
}
