internal import Foundation
package import StoreAuthority
internal import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// What has been brought from contributors' directories into a public container.
package struct GatheredContributions: Sendable {
    /// A file that was left where it is.
    package struct Refusal: Hashable, Sendable {
        package var file: FilePath
        package var reason: String
    }

    package var statements = 0
    package var logs = 0
    package var values = 0
    package var bases = 0
    package var refused: [Refusal] = []

    package var isEmpty: Bool { statements + logs + values + bases == 0 }
}

/// Brings what accounts have written to directories of their own, as ``StoreScope/public(_:at:contributingTo:)`` names them,
/// into a public container's directory.
///
/// A contributor's directory can hold anything. So a file is taken only if it is a statement that its account has signed, a
/// log that a device of the account has signed, or a file that one of these names by its hash; and it never replaces a file.
/// The order is: statements, what logs name, logs. A crash in between leaves files that the next call goes on from.
package struct ContributionGatherer {
    /// The container's directory.
    private let directory: ScopeDirectory
    private let layout: ContentLayout
    private let reader: (ContentLayout) -> LogReader
    private let content: String
    private let epoch: Int64
    private var authority: Authority
    private var gathered = GatheredContributions()

    /// Creates a gatherer.
    ///
    /// - Parameters:
    ///   - directory: the container's directory.
    ///   - content: the path of the content.
    ///   - contentName: the name of the content.
    ///   - epoch: the content's epoch.
    ///   - shapes: the synced tables.
    ///   - authority: the statements that the publisher's store knows.
    package init(
        into directory: ScopeDirectory, content: String, contentName: String, epoch: Int64, shapes: [TableShape], authority: Authority
    ) {
        (self.directory, self.content, self.epoch, self.authority) = (directory, content, epoch, authority)
        layout = ContentLayout(container: directory.path, content: content)
        let container = directory.container
        reader = { layout in
            LogReader(
                layout: layout, contentName: contentName, epoch: epoch, shapes: shapes, files: LinuxFileLayer(), container: container)
        }
    }

    private var files: any FileLayer { directory.files }

    /// Gathers from directories.
    ///
    /// - Parameter roots: the directories that contributors name as theirs.
    /// - Returns: what has been brought, and what was refused.
    /// - Throws: `Errno` if the container cannot be written to.
    package mutating func gather(from roots: [FilePath]) throws -> GatheredContributions {
        for root in roots { try gather(from: root) }
        return gathered
    }

    private mutating func gather(from root: FilePath) throws {
        let source = ScopeDirectory(root.appending("public").appending(directory.container.description), directory.container, LinuxFileLayer())
        guard (try? source.files.kind(of: source.path)) == .directory else {
            return refuse(source.path, "it is no directory; check the path, and whether the contributor's files have arrived")
        }
        try gatherStatements(source)
        let from = ContentLayout(container: source.path, content: content)
        for name in names(in: from.directory) {
            guard let peer = PeerIdentifier(name), AccountIdentifier(peer.account) != nil else { continue }
            try gatherBases(of: peer, from)
            try gatherLogs(of: peer, from)
        }
    }

    /// The names in a contributor's directory; none if there is no directory.
    ///
    /// One that cannot be read is refused.
    private mutating func names(in directory: FilePath) -> [String] {
        do {
            return try LinuxFileLayer().directoryNames(in: directory) ?? []
        } catch {
            refuse(directory, "it cannot be read (\(error))")
            return []
        }
    }

    private mutating func refuse(_ file: FilePath, _ reason: String) { gathered.refused.append(.init(file: file, reason: reason)) }

    // MARK: Statements

    private mutating func gatherStatements(_ source: ScopeDirectory) throws {
        var faulty: [FilePath: ScopeDirectory.Faulty] = [:]
        let listing: ScopeDirectory.Listing
        do {
            listing = try source.look(besides: authority.statementHashes, faulty: &faulty)
        } catch let error as Errno {
            return refuse(source.path, "it cannot be read (\(error))")
        }
        for (file, fault) in listing.faults { refuse(source.path.pushing(file), "\(fault)") }
        for (file, error) in listing.unreadable { refuse(source.path.pushing(file), "it cannot be read (\(error))") }
        for (statement, bytes) in listing.new {
            switch statement {
            case .account, .enrolment:
                _ = authority.insert([statement])
                guard let path = statement.path, try files.kind(of: directory.path.pushing(path)) == nil else { continue }
                try directory.write(bytes)
                gathered.statements += 1
            case .policy, .admittance, .warrant:
                if let path = statement.path { refuse(source.path.pushing(path), "only the steward and registrars bring such a statement") }
            }
        }
    }

    // MARK: Files that others name

    /// Gathers the baselines that statements of a peer's account name.
    private mutating func gatherBases(of peer: PeerIdentifier, _ from: ContentLayout) throws {
        guard let account = AccountIdentifier(peer.account) else { return }
        let named = authority.awaitedBases.union(authority.statement(of: account)?.value.base.map { [$0] } ?? [])
        for base in named.filter({ $0.peer == peer }).sorted() {
            let file = from.baseline(base, epoch: epoch)
            guard (try? files.kind(of: layout.baseline(base, epoch: epoch))) == nil, (try? LinuxFileLayer().kind(of: file)) == .file else { continue }
            if try copy(file, base.name.hash, to: layout.baseline(base, epoch: epoch), of: peer) { gathered.bases += 1 }
        }
    }

    /// Copies a file that has a hash, and returns whether it has.
    private mutating func copy(_ file: FilePath, _ hash: ContentHash, to place: FilePath, of peer: PeerIdentifier) throws -> Bool {
        let draft = try makeDraft(of: peer, for: place)
        do {
            try FileManager.default.copyItem(atPath: file.string, toPath: draft.string)
            guard try ContentHash(ofFile: draft) == hash else { throw LogFault.damaged("its bytes are not those that its name says") }
            try files.syncFile(draft)
        } catch {
            try? files.remove(draft)
            refuse(file, "\(error)")
            return false
        }
        try finish(draft, place)
        return true
    }

    private func makeDraft(of peer: PeerIdentifier, for place: FilePath) throws -> FilePath {
        let temporary = layout.temporary(of: peer, epoch: epoch)
        let folders = layout.way + [layout.peer(peer), layout.logs(of: peer, epoch: epoch), temporary, place.removingLastComponent()]
        for folder in folders where try files.kind(of: folder) != .directory {
            try files.makeDirectory(folder)
            try files.syncDirectory(folder.removingLastComponent())
        }
        return temporary.appending(UUID().uuidString)
    }

    private func finish(_ draft: FilePath, _ place: FilePath) throws {
        do {
            try files.renameNew(draft, to: place)
        } catch Errno.fileExists {
            try files.remove(draft)
        }
        try files.syncDirectory(place.removingLastComponent())
    }

    // MARK: Logs

    private mutating func gatherLogs(of peer: PeerIdentifier, _ from: ContentLayout) throws {
        let (source, target) = (from.logs(of: peer, epoch: epoch), layout.logs(of: peer, epoch: epoch))
        let present = Set(try files.directoryNames(in: target) ?? [])
        let reader = reader(from)
        let names = names(in: source).filter { !present.contains($0) }.compactMap { LogFileName($0) }
        for name in names.sorted() {
            let file = source.appending(name.description)
            let bytes: [UInt8]
            do {
                bytes = try LinuxFileLayer().read(file, limit: BundleEntry.limit - 4096)
            } catch Errno.fileTooLarge {
                refuse(file, "it has more bytes than a public place takes")
                continue
            } catch Errno.noSuchFileOrDirectory {
                continue
            } catch {
                refuse(file, "it cannot be read (\(error))")
                continue
            }
            do {
                let log = try reader.check(bytes, name, of: peer, clock: .latest)
                try judge(log)
                for value in log.values.keys.sorted(by: { $0.hash < $1.hash }) { try gather(value, of: peer, from) }
                let draft = try makeDraft(of: peer, for: target.appending(name.description))
                try files.writeNew(draft, bytes)
                try finish(draft, target.appending(name.description))
                gathered.logs += 1
            } catch let fault as LogFault {
                refuse(file, "\(fault)")
            }
        }
    }

    /// Throws if a log was not signed by its peer, or will never count.
    private func judge(_ log: ReadyLog) throws(LogFault) {
        guard let rights = log.log.header.rights, let author = authority.author(log.peer, certificate: rights.certificate) else {
            throw .damaged("no statement that is here names the device \(log.peer) and its key")
        }
        guard log.log.isSigned(by: author.key, log.name.hash) else { throw LogProof.fault }
        if case .rejected(let reason) = authority.verdict(on: rights, by: log.peer, sequence: log.name.sequence, isCurated: false) {
            throw .damaged("it would have no effect: \(reason)")
        }
    }

    /// Copies a large value that a log names, unless it is here.
    private mutating func gather(_ value: LargeValue, of peer: PeerIdentifier, _ from: ContentLayout) throws {
        let name = value.hash.description
        let (source, place) = (from.values(of: peer, epoch: epoch).appending(name), layout.values(of: peer, epoch: epoch).appending(name))
        guard try files.kind(of: place) == nil, (try? LinuxFileLayer().size(of: source)) == Int64(value.length) else { return }
        if try copy(source, value.hash, to: place, of: peer) { gathered.values += 1 }
    }
}
