import FileCoordination
import Foundation
import ObjectTransfer
import SystemPackage
import UbiquityContainers
import Waiting

/// Devices with directories of their own, and a remote in a directory.
struct TransferWorld {
    let directory: FilePath
    let account = try! AccountName("ann")

    /// Runs a body with a world.
    static func with(_ body: (TransferWorld) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("transfer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.appending("remote").string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        try await body(TransferWorld(directory: directory))
    }

    /// The directory of the remote, for the account.
    var remote: FilePath { directory.appending("remote") }

    /// Makes a device with an empty containers root.
    func device(_ name: String) throws -> TransferDeviceStand {
        let root = directory.appending("\(name)-root")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        return TransferDeviceStand(
            name: name, root: root, index: directory.appending("\(name).sqlite"), account: account,
            peer: PeerIdentifier("ann~\(UUID().uuidString.lowercased())")!, store: DirectoryObjectStore(remote))
    }

    /// The objects of the remote, without drafts.
    func objects() async throws -> [String] {
        try await DirectoryObjectStore(remote).list("files").map(\.path).sorted()
    }
}

/// A device, as far as transfers know it.
struct TransferDeviceStand {
    let name: String
    let root: FilePath
    let index: FilePath
    let account: AccountName
    let peer: PeerIdentifier
    let store: any ObjectStore

    /// Starts an agent's runner, with what the index has.
    func runner(
        _ store: (any ObjectStore)? = nil, limit: MassDeletionLimit = MassDeletionLimit(), options: TransferOptions = TransferOptions(),
        downloads: DownloadRules = DownloadRules(), now: @escaping @Sendable () -> Date = { Date() }
    ) throws -> TransferRunner {
        try TransferRunner(
            account: account, store: store ?? self.store, disk: ContainersDisk(root: root, account: account), documents: documents,
            memory: TransferIndex(index), situation: TransferSituation(peers: [peer], limit: limit, downloads: downloads), options: options, now: now)
    }

    var documents: DocumentDisk { DocumentDisk(root: root, account: account, packages: FilePackages()) }

    /// The path of a document in `Documents`.
    func document(_ name: String) -> DocumentPath { DocumentPath("org.example.notes/Documents/\(name)")! }

    func file(_ document: DocumentPath) -> FilePath { documents.file(at: document) }

    func placeholder(_ document: DocumentPath) -> Placeholder? { Placeholder(at: Placeholder.path(of: file(document))) }

    /// Writes a document as an app does, and the peer's mark.
    func write(_ bytes: Data, to document: DocumentPath) throws {
        if text(mark) == nil { try write("mark", to: mark) }
        let file = file(document)
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try bytes.write(to: URL(filePath: file.string), options: .atomic)
    }

    func write(_ text: String, to document: DocumentPath) throws { try write(Data(text.utf8), to: document) }

    func bytes(_ document: DocumentPath) -> Data? { FileManager.default.contents(atPath: file(document).string) }
    func text(_ document: DocumentPath) -> String? { bytes(document).map { String(decoding: $0, as: UTF8.self) } }

    /// The names in a document's directory, without placeholders.
    func names(beside document: DocumentPath) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(document).removingLastComponent().string).filter { !Placeholder.isName($0) }.sorted()
    }

    /// The path of a file of this device's peer.
    func path(_ name: String, epoch: Int64 = 1, of peer: PeerIdentifier? = nil) -> TransferPath {
        TransferPath("org.example.notes/CoreData/Notes/\(peer ?? self.peer)/\(epoch)/\(name)", of: account)!
    }

    var mark: TransferPath { TransferPath("org.example.notes/.ubiquity/\(peer)", of: account)! }

    func file(_ path: TransferPath) -> FilePath { root.appending(account.description).pushing(FilePath(path.description)) }

    /// Writes a file as an app does.
    func write(_ text: String, to path: TransferPath) throws {
        let file = file(path)
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file.string))
    }

    func text(_ path: TransferPath) -> String? {
        FileManager.default.contents(atPath: file(path).string).map { String(decoding: $0, as: UTF8.self) }
    }

    func remove(_ path: TransferPath) throws { try FileManager.default.removeItem(atPath: file(path).string) }
}

extension TransferRunner {
    /// Passes until nothing is left to do.
    ///
    /// A process that another test has just started has a copy of every descriptor of this one until it runs its program. What
    /// is open to write for that reason is neither replaced nor removed until then, so the passes go on.
    @discardableResult
    nonisolated func settle(_ most: Int = 50, file: String = #fileID, line: Int = #line) async throws -> Outcome {
        var outcome = Outcome()
        try await until("no program has a document open to write", file: file, line: line) {
            for _ in 0..<most {
                outcome = try await pass(.everything)
                if await !awaitsLook, !outcome.hasMore, !outcome.isBusy { break }
            }
            return await !faults.values.contains { $0.reason.contains(inUseToWrite) }
        }
        return outcome
    }
}

/// A store that does something else where a test says so.
struct ScriptedStore: ObjectStore {
    let base: any ObjectStore
    /// Called before each operation, with its name and the path; may throw.
    let before: @Sendable (String, String) throws -> Void

    func list(_ directory: String) async throws -> [StoredObject] {
        try before("list", directory)
        return try await base.list(directory)
    }

    func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try before("put", path)
        try await base.put(file, at: path, progress: progress)
    }

    func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try before("get", path)
        try await base.get(path, size: size, to: file, progress: progress)
    }

    func delete(_ path: String) async throws {
        try before("delete", path)
        try await base.delete(path)
    }

    func stat(_ path: String) async throws -> StoredObject? {
        try before("stat", path)
        return try await base.stat(path)
    }
}
