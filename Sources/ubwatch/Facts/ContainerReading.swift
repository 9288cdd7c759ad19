import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// One inspection of a container and of this device's part in it, except the items' statuses; it blocks.
struct ContainerReading: Sendable {
    let path: FilePath
    let home: DeviceHome?
    let options: WatchReader.Options
    /// The identity of the container's directory at the first inspection; nil if there was none.
    let first: DirectoryIdentity?

    /// Inspects the container.
    ///
    /// - Parameter check: called before each directory of items; an error that it throws ends the inspection.
    /// - Returns: the facts, and the identity of the container's directory.
    /// - Throws: `UbiquitousStoreError` when there is no container, and the error of `check`.
    func facts(_ check: () throws -> Void = {}) throws -> (WatchFacts, DirectoryIdentity?) {
        let identity = DirectoryIdentity(of: path)
        var facts = WatchFacts(
            time: Date(), path: path.string, account: path.removingLastComponent().lastComponent?.string ?? "",
            container: path.lastComponent?.string ?? "", presence: .there, device: .init(), state: .idle)
        facts.device = device(facts)
        let isKnown = first != nil || facts.device.wasAttached
        do {
            let survey = try ContainerSurvey(of: path)
            (facts.attached, facts.stores) = (survey.attached, survey.stores)
            if let first, identity != first {
                facts.presence = .replaced
            } else if let peer = facts.device.peer, facts.device.wasAttached, !survey.attached.contains(peer) {
                facts.presence = .unmarked
            }
        } catch let error as UbiquitousStoreError where isKnown && error.code == .notFound {
            // The directory is gone, maybe only since its identity was read, or exists without the parts of a container.
            facts.presence = DirectoryIdentity(of: path) == nil ? .gone : .unmarked
        }
        facts.localStores = LocalStoreReader(container: path, account: facts.account, identifier: facts.container, home: home).stores(options.stores)
        if facts.presence != .gone, options.walksItems {
            let items = try ItemSurvey(of: path, check)
            facts.storage.documents = .init(files: items.files, bytes: items.bytes)
            for copy in items.copies { add(copy, to: &facts.troubles) }
        }
        addStorage(to: &facts)
        for file in facts.localStores.flatMap(\.files) where file.isInUse || file.summary.place == "account" {
            addTroubles(of: file.summary, to: &facts.troubles)
        }
        for fault in facts.stores.flatMap(\.peers).compactMap(\.fault) { facts.troubles.failures.append(.init(path: path.string, reason: fault)) }
        for store in facts.localStores {
            if let failure = store.failure { facts.troubles.failures.append(.init(path: store.path, reason: failure)) }
            if store.isGone, store.isNamed { facts.troubles.failures.append(.init(path: store.path, reason: "there is no such store")) }
        }
        for trouble in facts.troubles.listed where trouble.kind == .quarantined { addQuarantined(trouble, to: &facts.storage) }
        addKept(to: &facts)
        return (facts, identity)
    }

    // MARK: The device

    private func device(_ facts: WatchFacts) -> WatchFacts.Device {
        var device = WatchFacts.Device()
        guard let home else { return device }
        device.home = home.path.string
        do {
            guard let (name, record) = try home.signedIn else { return device }
            device.signedIn = name.description
            guard name.description == facts.account, let identifier = try? ContainerIdentifier(facts.container),
                let entry = record.peers[facts.container]
            else { return device }
            let container = try UbiquityContainer(recorded: identifier, of: name, home: home, files: LinuxFileLayer())
            // A copy of a container elsewhere does not belong to this device.
            guard PathFacts.resolved(container.path) == PathFacts.resolved(path) else { return device }
            (device.peer, device.wasAttached) = (entry.identifier, entry.attached)
            if entry.attached, case .detached = container.attachment() { device.detached = container.attachment().description }
        } catch {
            device.failure = "\(error)"
        }
        return device
    }

    // MARK: Space

    private func addStorage(to facts: inout WatchFacts) {
        func add(_ amount: WatchFacts.Amount, to sum: inout WatchFacts.Amount) {
            sum.files += amount.files
            sum.bytes += amount.bytes
        }
        var stores = ContainerSurvey.Storage()
        for store in facts.stores { stores += store.storage }
        (facts.storage.logs, facts.storage.values, facts.storage.baselines) = (stores.logs, stores.values, stores.baselines)
        (facts.storage.receipts, facts.storage.marks) = (stores.receipts, stores.marks)
        (facts.storage.temporary, facts.storage.other) = (stores.temporary, stores.other)
        if let space = FileSystemFacts(at: path) {
            (facts.space.free, facts.space.capacity) = (Int64(clamping: space.available), Int64(clamping: space.size))
        }
        facts.space.mark = (try? home?.configuration)?.storageMark
        for peer in facts.attached { add(size(path.appending(UbiquityContainer.markDirectoryName).appending(peer)), to: &facts.storage.marks) }
        for file in facts.localStores.flatMap(\.files) {
            for suffix in ["", "-wal", "-shm"] { add(size(FilePath(file.summary.file + suffix)), to: &facts.storage.local) }
        }
    }

    private func addQuarantined(_ trouble: WatchFacts.Trouble, to storage: inout WatchFacts.Storage) {
        guard let store = trouble.store else { return }
        let amount = size(ContentLayout(container: path, content: store).directory.pushing(FilePath(trouble.subject)))
        storage.quarantined.files += amount.files
        storage.quarantined.bytes += amount.bytes
    }

    private func size(_ file: FilePath) -> WatchFacts.Amount {
        guard let facts = try? FileFacts(of: file), facts.kind == .file else { return .init() }
        return .init(files: 1, bytes: facts.size)
    }

    // MARK: Troubles

    private func add(_ copy: ItemPath.UnresolvedCopy, to troubles: inout WatchFacts.Troubles) {
        let since = (try? FileFacts(of: copy.path))?.modificationDate
        // The copy's name says which device made it; it may be this one.
        let reason = "\(copy.original) was changed on two devices at the same time; this copy\(copy.device.map { ", of device \($0)," } ?? "") lost"
        let subject = copy.path.string.dropFirst(path.string.count + 1)
        let original = copy.path.removingLastComponent().appending(copy.original)
        let remedy = "diff \(original.string.shellWord) \(copy.path.string.shellWord)"
        troubles.add(
            .init(kind: .copy, subject: String(subject), reason: reason, since: since, peer: copy.device, remedy: remedy), limit: options.troubles)
    }

    /// Adds the problems of a store; if they cannot be read, adds their numbers and the reason.
    func addTroubles(of summary: StoreSummary, to troubles: inout WatchFacts.Troubles) {
        let found: StoreTroubles
        do {
            found = try InspectedStore.look(at: FilePath(summary.file)) { try $0.troubles(limit: options.troubles) }
        } catch {
            troubles.failures.append(.init(path: summary.file, reason: "\(error)"))
            troubles.count(.quarantined, summary.quarantined, listed: 0)
            troubles.count(.held, summary.held, listed: 0)
            troubles.count(.conflict, summary.conflicts, listed: 0)
            return
        }
        let file = summary.file.shellWord
        for log in found.quarantined {
            troubles.add(
                .init(
                    kind: .quarantined, subject: "\(log.peer)/\(summary.epoch)/\(log.file)", reason: log.reason, since: log.since,
                    store: summary.content, peer: log.peer, remedy: "ubcontrol store quarantine list \(file)"), limit: options.troubles)
        }
        for record in found.held {
            troubles.add(
                .init(
                    kind: .held, subject: record.subject, reason: record.reason, store: summary.content, remedy: "ubcontrol store held \(file)"),
                limit: options.troubles)
        }
        for conflict in found.conflicts {
            troubles.add(
                .init(
                    kind: .conflict, subject: conflict.subject, reason: conflict.reason, since: conflict.noticed, store: summary.content,
                    peer: conflict.author, remedy: "ubcontrol store conflicts \(file)"), limit: options.troubles)
        }
        troubles.count(.conflict, summary.conflicts, listed: found.conflicts.count)
        troubles.count(.held, summary.held, listed: found.held.count)
    }

    private func addKept(to facts: inout WatchFacts) {
        guard let home else { return }
        let entries: [KeptEntry]
        do {
            entries = try KeptLogs(home: home).list().compactMap(\.entry)
        } catch {
            facts.troubles.failures.append(.init(path: home.path.string, reason: "\(error)"))
            return
        }
        for entry in entries where entry.container == facts.container && entry.account == facts.account && entry.restored == nil {
            let reason =
                "\(counted(entry.changes, "change")) of records had not gone out when the content was removed"
            facts.troubles.add(
                .init(
                    kind: .kept, subject: entry.id, reason: reason, since: entry.time, store: entry.content,
                    remedy: "ubcontrol kept show \(entry.id.shellWord)"), limit: options.troubles)
        }
    }
}

extension WatchFacts.Troubles {
    /// Counts a problem, and lists it while its kind has few entries.
    mutating func add(_ trouble: WatchFacts.Trouble, limit: Int) {
        counts[trouble.kind.rawValue, default: 0] += 1
        if listed.count(where: { $0.kind == trouble.kind }) < limit { listed.append(trouble) } else { isWhole = false }
    }

    /// Counts the problems that a limited list omits.
    mutating func count(_ kind: WatchFacts.Trouble.Kind, _ all: Int, listed: Int) {
        guard all > listed else { return }
        counts[kind.rawValue, default: 0] += all - listed
        isWhole = false
    }
}
