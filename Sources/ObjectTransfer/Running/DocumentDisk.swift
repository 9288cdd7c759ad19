internal import CLinux
package import ContentHashing
package import FileCoordination
internal import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage
package import UbiquityContainers

/// The documents of an account below a containers root, as a transfer reads and writes them.
///
/// Each step leaves a document's name with the old bytes, the new ones, or a placeholder, whenever the process is killed. What
/// replaces or removes bytes checks first that they are those that the cloud has. Methods block unless they are `async`.
package struct DocumentDisk: Sendable {
    package let root: FilePath
    package let account: AccountName
    /// The rule that tells which directories are packages.
    package let packages: FilePackages
    let files = LinuxFileLayer()
    let reader = DocumentReader()

    package init(root: FilePath, account: AccountName, packages: FilePackages) {
        (self.root, self.account, self.packages) = (root, account, packages)
    }

    /// How long the accesses of one pass wait for others: 5 s once, and then no more.
    private let patience = Patience()

    /// Begins a pass, in which accesses wait again.
    package func beginPass() { patience.isUsed.store(false, ordering: .relaxed) }

    var directory: FilePath { root.appending(account.description) }
    var staging: FilePath { root.appending(ContainersDisk.staging) }
    private var piecesDirectory: FilePath { staging.appending("pieces") }
    var evictingDirectory: FilePath { staging.appending("evicting").appending(account.description) }

    /// Where a document lies.
    package func file(at path: DocumentPath) -> FilePath { directory.pushing(FilePath(path.description)) }

    /// Why a document cannot be moved now.
    package struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        package var description: String
        package init(_ description: String) { self.description = description }
    }

    // MARK: Looking

    /// What stands for a document here.
    package enum Found: Hashable, Sendable {
        case item(DocumentStamp)
        case placeholder(Placeholder)
    }

    /// What a look has found.
    package struct Look: Sendable {
        /// The paths of which nothing is known: directories that cannot be read, and links, which somebody has put in the place of
        /// documents.
        package var unread: [String] = []
        package var found: [DocumentPath: Found] = [:]
        /// The documents that are here, and have a placeholder too.
        package var strays: [DocumentPath] = []
        /// The placeholders that are there and cannot be read.
        package var damaged: Set<FilePath> = []
        /// What does not travel, with the reason, by path.
        package var refused: [String: String] = [:]
        package init() {}
    }

    /// Looks at all documents of the account.
    ///
    /// - Parameter known: the directories that other devices have as packages.
    /// - Returns: what was found.
    /// - Throws: `Errno`.
    package func scan(knowing known: Set<DocumentPath> = []) async throws -> Look {
        try await blocking {
            var look = Look()
            for name in try files.directoryNames(in: directory) ?? [] where (try? ContainerIdentifier(name)) != nil {
                try scan(directory.appending(name), name, known, isTop: true, into: &look)
            }
            return look
        }
    }

    private func scan(_ place: FilePath, _ prefix: String, _ known: Set<DocumentPath>, isTop: Bool = false, into look: inout Look) throws {
        let names: [String]
        do {
            names = try files.directoryNames(in: place) ?? []
        } catch {
            guard error == .permissionDenied || error == .notPermitted else { throw error }
            look.unread.append(prefix)
            look.refused[prefix] = "it cannot be read (\(error)); check its owner and mode"
            return
        }
        for name in names {
            if isTop, [UbiquityContainer.markDirectoryName, UbiquityContainer.storesName].contains(name) { continue }
            let path = place.appending(name)
            if Placeholder.isName(name) {
                guard let placeholder = Placeholder(at: path) else {
                    look.damaged.insert(path)
                    continue
                }
                if let document = DocumentPath("\(prefix)/\(placeholder.name)") {
                    if look.found[document] == nil { look.found[document] = .placeholder(placeholder) } else { look.strays.append(document) }
                }
                continue
            }
            if ForeignNames.staysHere(name) || ForeignNames.matches(name) || TransferPath("\(prefix)/\(name)", of: account) != nil { continue }
            let kind = try files.kind(of: path)
            guard kind == .file || kind == .directory else {
                if kind == .other { look.unread.append("\(prefix)/\(name)") }
                continue
            }
            guard let document = DocumentPath("\(prefix)/\(name)") else {
                if PeerIdentifier(name) == nil { look.refused["\(prefix)/\(name)"] = "its name is too long, or has a control character; rename it" }
                continue
            }
            if kind == .directory, !packages.contains(path), !known.contains(document) {
                try scan(path, "\(prefix)/\(name)", known, into: &look)
                continue
            }
            do {
                guard let stamp = try reader.stamp(of: path) else { continue }
                if case .placeholder? = look.found.updateValue(.item(stamp), forKey: document) { look.strays.append(document) }
            } catch let fault as DocumentReader.Fault {
                look.refused[document.description] = fault.description
            } catch let error as Errno where error != .noSuchFileOrDirectory && error != .notDirectory {
                look.refused[document.description] = "it cannot be read (\(error))"
            }
        }
    }

    /// Looks at one document.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - isPackage: whether other devices have it as a package.
    /// - Returns: what was found; nothing if it is not there.
    /// - Throws: `Errno`.
    package func look(at path: DocumentPath, isPackage: Bool = false) async throws -> Look {
        try await blocking {
            var look = Look()
            let file = file(at: path)
            guard try isReached(file) else {
                if try isBehindLink(file) { look.unread = [path.description] }
                return look
            }
            let veil = Placeholder.path(of: file)
            let placeholder = Placeholder(at: veil)
            if placeholder == nil, try files.kind(of: veil) != nil { look.damaged = [veil] }
            do {
                let kind = try files.kind(of: file)
                if kind == .other { look.unread = [path.description] }
                let isPlain = kind == .directory && !packages.contains(file) && !isPackage
                if !isPlain, let stamp = try reader.stamp(of: file) {
                    look.found[path] = .item(stamp)
                    if placeholder != nil { look.strays = [path] }
                } else if let placeholder {
                    look.found[path] = .placeholder(placeholder)
                }
            } catch let fault as DocumentReader.Fault {
                look.refused[path.description] = fault.description
            }
            return look
        }
    }

    /// Whether all directories from the root to a file are directories, and no links.
    func isReached(_ file: FilePath) throws -> Bool {
        var directory = file.removingLastComponent()
        while directory != root {
            guard try files.kind(of: directory) == .directory else { return false }
            directory.removeLastComponent()
        }
        return true
    }

    /// Whether a directory above a file is a link, or something else that is no directory.
    func isBehindLink(_ file: FilePath) throws -> Bool {
        var directory = file.removingLastComponent()
        while directory != root {
            if try files.kind(of: directory) == .other { return true }
            directory.removeLastComponent()
        }
        return false
    }

    /// Reads a document, under coordination, so that no save is read half.
    ///
    /// - Returns: nil if it is not there.
    /// - Throws: ``Fault``; `Errno`; `CancellationError`.
    package func read(_ path: DocumentPath) async throws -> ReadDocument? {
        let file = file(at: path)
        do {
            return try await FileCoordinator().read(Self.url(file), options: .withoutChanges, deadline: .after(patience.left)) { _ in
                try await blocking { try isReached(file) ? reader.content(of: file) : nil }
            }
        } catch let error as FileCoordinationError {
            patience.isUsed.store(true, ordering: .relaxed)
            throw Fault("it is in use (\(error.message))")
        } catch let fault as DocumentReader.Fault {
            throw Fault(fault.description)
        }
    }

    /// Reads a document; the caller holds a coordinated access of it.
    package func readHeld(_ path: DocumentPath) async throws -> ReadDocument? {
        do {
            return try await blocking { try isReached(file(at: path)) ? reader.content(of: file(at: path)) : nil }
        } catch let fault as DocumentReader.Fault {
            throw Fault(fault.description)
        }
    }

    /// Copies a piece of a document to a staged file.
    ///
    /// - Throws: ``Fault`` if the document has changed; `Errno`.
    package func stage(_ piece: DocumentContent.Chunk, at offset: Int64, of part: String, in path: DocumentPath) async throws -> FilePath {
        try await blocking {
            try makeStaging()
            let target = staging.appending(UUID().uuidString.lowercased())
            let file = part.isEmpty ? file(at: path) : file(at: path).pushing(FilePath(part))
            guard try isReached(file) else { throw Fault("it has gone") }
            do {
                try reader.copy(piece, at: offset, of: file, to: target)
            } catch let fault as DocumentReader.Fault {
                throw Fault(fault.description)
            } catch Errno.noSuchFileOrDirectory {
                throw Fault("it has gone")
            }
            return target
        }
    }

    func makeStaging() throws {
        guard try files.kind(of: root) == .directory else { throw Errno.noSuchFileOrDirectory }
        try files.makeDirectory(staging)
    }

    // MARK: Pieces that have arrived

    private func pieces(of hash: ContentHash) -> FilePath { piecesDirectory.appending(hash.description) }

    /// Where a piece arrives, or nil if it is there already from an earlier attempt.
    ///
    /// - Parameters:
    ///   - piece: the piece.
    ///   - hash: the hash of the content to which it belongs.
    /// - Returns: a path where no file is yet.
    /// - Throws: `Errno`.
    package func target(of piece: DocumentContent.Chunk, of hash: ContentHash) async throws -> FilePath? {
        try await blocking {
            try makeStaging()
            try files.makeDirectory(piecesDirectory)
            let directory = pieces(of: hash)
            try files.makeDirectory(directory)
            let file = directory.appending(piece.hash.description)
            if try files.kind(of: file) == .file, try files.size(of: file) == piece.size { return nil }
            return directory.appending("\(piece.hash).\(UUID().uuidString.lowercased())")
        }
    }

    /// Notes that a piece has arrived.
    ///
    /// - Throws: ``Fault`` if it has other bytes than it should, or is cut off.
    package func arrived(_ staged: FilePath, _ piece: DocumentContent.Chunk, of hash: ContentHash) async throws {
        try await blocking {
            guard try files.size(of: staged) == piece.size, try ContentHash(ofFile: staged) == piece.hash else {
                try? files.remove(staged)
                throw Fault("the cloud has other bytes than its bulletin says; a piece may be cut off")
            }
            try files.renameOver(staged, to: pieces(of: hash).appending(piece.hash.description))
        }
    }

    /// Puts a document together from its pieces, whole and durable, beside its place.
    package func assemble(_ content: DocumentContent) async throws -> FilePath {
        let pieces = pieces(of: content.hash)
        return try await blocking {
            try makeStaging()
            let target = staging.appending(UUID().uuidString.lowercased())
            do {
                if content.isPackage {
                    try files.makeDirectory(target)
                    for directory in content.directories.sorted() { try makeDirectories(target.pushing(FilePath(directory)), below: target) }
                }
                for part in content.files {
                    let file = part.path.isEmpty ? target : target.pushing(FilePath(part.path))
                    if content.isPackage { try makeDirectories(file.removingLastComponent(), below: target) }
                    try assemble(part, from: pieces, modified: content.modified, to: file)
                }
                if content.isPackage { for directory in try subdirectories(of: target) { try files.syncDirectory(directory) } }
                return target
            } catch {
                discardNow(target)
                throw error
            }
        }
    }

    private func assemble(_ part: DocumentContent.File, from pieces: FilePath, modified: Int64, to file: FilePath) throws {
        let output = try FileDescriptor.open(
            file, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
            permissions: part.isExecutable ? FilePermissions(rawValue: 0o755) : FilePermissions(rawValue: 0o644))
        defer { try? output.close() }
        for piece in part.chunks {
            let bytes = try files.read(pieces.appending(piece.hash.description), limit: ContentChunker.largest)
            // A loss of power can have cut it off.
            guard ContentHash(of: bytes) == piece.hash else {
                try? files.remove(pieces.appending(piece.hash.description))
                throw Fault("a piece has been damaged on this disk; it is fetched again")
            }
            try output.writeAll(bytes)
        }
        var times = [timespec(tv_sec: Int(modified / 1000), tv_nsec: Int(modified % 1000) * 1_000_000)]
        times.append(times[0])
        _ = futimens(output.rawValue, times)
        guard fsync(output.rawValue) == 0 else { throw Errno(rawValue: errno) }
    }

    func makeDirectories(_ directory: FilePath, below top: FilePath) throws {
        guard directory != top else { return }
        try makeDirectories(directory.removingLastComponent(), below: top)
        try files.makeDirectory(directory)
    }

    private func subdirectories(of directory: FilePath) throws -> [FilePath] {
        var found = [directory]
        for name in try files.directoryNames(in: directory) ?? [] where try files.kind(of: directory.appending(name)) == .directory {
            found += try subdirectories(of: directory.appending(name))
        }
        return found
    }

    /// Removes the pieces of a document that is in its place, or wanted no more.
    package func discardPieces(of content: DocumentContent) async { _ = try? await blocking { discardNow(pieces(of: content.hash)) } }

    /// Removes the pieces of all documents but some.
    package func discardPieces(except contents: Set<String>) async {
        _ = try? await blocking {
            for name in try files.directoryNames(in: piecesDirectory) ?? [] where !contents.contains(name) {
                discardNow(piecesDirectory.appending(name))
            }
        }
    }

    /// Removes a staged file or directory.
    package func discard(_ staged: FilePath) async { _ = try? await blocking { discardNow(staged) } }

    func discardNow(_ path: FilePath) {
        guard path.starts(with: staging), path != staging else { return }
        try? FileManager.default.removeItem(atPath: path.string)
    }

    // MARK: Space

    /// When a document was last used: its times of access and of change, in nanoseconds since 1970.
    package func lastUse(of path: DocumentPath) async -> Int64 {
        await
            (try? blocking {
                var status = Glibc.stat()
                guard file(at: path).withPlatformString({ lstat($0, &status) }) == 0 else { return 0 }
                return max(clinux_accessed(&status), clinux_modified(&status))
            }) ?? 0
    }

    // MARK: Coordination

    private static func url(_ file: FilePath) -> URL { URL(filePath: file.string, directoryHint: .notDirectory) }

    /// Runs blocking work inside a coordinated write.
    func coordinated<Value: Sendable>(
        _ file: FilePath, _ options: FileCoordinator.WritingOptions, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await FileCoordinator().write(Self.url(file), options: options, deadline: .after(patience.left)) { _ in
                try await blocking(body)
            }
        } catch let error as FileCoordinationError {
            patience.isUsed.store(true, ordering: .relaxed)
            throw Fault("it is in use (\(error.message))")
        }
    }
}

/// Whether an access of a pass has waited in vain, so that the others hardly wait.
private final class Patience: Sendable {
    let isUsed = Atomic(false)
    var left: Duration { isUsed.load(ordering: .relaxed) ? .milliseconds(200) : .seconds(5) }
}
