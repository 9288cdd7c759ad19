internal import Foundation
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// The bulletins of other devices, and the remote in which they are.
extension TransferRunner {
    /// Reads the bulletins that are new; returns false if the remote is not the known one, or cannot be used.
    func readNews(_ outcome: inout Outcome) async throws -> Bool {
        let names = Set(try await store.list(RemoteLayout.news).compactMap { BulletinName($0.path) })
        guard try await connect(names, &outcome) else { return false }
        if book.isCloned(names) {
            let former = book.device
            book.rename(TransferDevice(newIdentifier()))
            try keep()
            log?.warning("\(account): another home publishes as \(former); this one is \(book.device) from now on")
        }
        book.noteOwn(names)
        for name in names.filter(book.isNews).sorted(by: { ($0.number, $0) < ($1.number, $1) }) where isDue(name) {
            guard book.isNews(name) else { continue }
            // It is sent again: a listing does not say whether all of it is there.
            if name == book.draft?.name { continue }
            do {
                let bytes = try await fetch(RemoteLayout.path(of: name), limit: Bulletin.limit)
                TransferStep.bulletinFetched.pass()
                let bulletin = try Bulletin(decoding: bytes, named: name, of: account)
                // A listing may be early with one and late with the one before it.
                guard book.follows(bulletin) else { continue }
                book.take(bulletin, name, now: now())
                (suspicion.bulletins[name], quarantine[name]) = (nil, nil)
                try keep()
                TransferStep.bulletinTaken.pass()
                outcome.isBusy = true
            } catch let fault as Bulletin.Fault {
                if case .newerFormat = fault {
                    outcome.block = .newerFormat("the bulletin \(name): \(fault)")
                    return false
                }
                suspect(name, fault)
            } catch let error as ObjectStoreError where error.kind == .other {
                suspect(name, .malformed(error.reason))
            } catch let error as ObjectStoreError where error.kind == .notFound {
                // An inventory has replaced it meanwhile, or the listing was early.
                continue
            }
        }
        return true
    }

    private func suspect(_ name: BulletinName, _ fault: Bulletin.Fault) {
        suspicion.bulletins[name, default: 0] += 1
        if quarantine[name] == nil { log?.warning("\(account): the bulletin \(name) is of no use: \(fault)") }
        // A store can show a file before all of it is there.
        if fault != .incomplete || suspicion.bulletins[name]! >= 3 { quarantine[name] = fault }
    }

    /// Whether a bulletin is read in this pass: one that was incomplete again and again is, in each eighth.
    private func isDue(_ name: BulletinName) -> Bool {
        guard let fault = quarantine[name] else { return true }
        return fault == .incomplete && suspicion.passes % 8 == 0
    }

    /// Makes sure that the remote is the known one; begins it if it is new.
    private func connect(_ names: Set<BulletinName>, _ outcome: inout Outcome) async throws -> Bool {
        // An unchanged remote is recognised by its newest bulletin, without a request.
        if book.canary != nil, book.number > 0, book.recognises(names, book.canary) { return true }
        var found = try await readCanary()
        if case .newerFormat(let fault) = found {
            outcome.block = .newerFormat(fault)
            return false
        }
        if case .none = found, book.recognises(names, nil) {
            try await send(Canary(identifier: book.canary ?? newIdentifier()).encoded, to: RemoteLayout.canary)
            found = try await readCanary()
        }
        // Where another home has published an inventory under this device's identifier, its newest bulletin is gone.
        guard case .found(let canary) = found,
            book.recognises(names, canary.identifier) || canary.identifier == book.canary && book.isCloned(names)
        else {
            outcome.block = .remoteReplaced
            return false
        }
        book.connected(canary.identifier)
        if case .needed = foundObjects { foundObjects = .listed(Set(try await store.list(RemoteLayout.files).map(\.path))) }
        try keep()
        TransferStep.connected.pass()
        return true
    }

    private enum FoundCanary {
        case none
        case found(Canary)
        case newerFormat(String)
    }

    private func readCanary() async throws -> FoundCanary {
        do {
            return .found(try Canary(decoding: try await fetch(RemoteLayout.canary, limit: Canary.limit)))
        } catch let error as ObjectStoreError where error.kind == .notFound {
            return .none
        } catch .newerFormat(let format) as Bulletin.Fault {
            return .newerFormat("\(RemoteLayout.canary) has format \(format), which a newer version of this package reads; update it")
        } catch is Bulletin.Fault {
            return .none
        }
    }

    func fetch(_ path: String, limit: Int) async throws -> [UInt8] {
        let staged = try await disk.stage()
        do {
            let size = try await store.stat(path)?.size
            if let size, size > Int64(limit) {
                throw ObjectStoreError(.other, "\(path) has \(size) bytes, more than the \(limit) that it may have.")
            }
            try await store.get(path, size: size, to: staged) { _ in }
            let bytes = try await disk.read(staged: staged, limit: limit)
            await disk.discard(staged)
            return bytes
        } catch Errno.fileTooLarge {
            await disk.discard(staged)
            throw ObjectStoreError(.other, "\(path) has more bytes than the \(limit) that it may have.")
        } catch {
            await disk.discard(staged)
            throw error
        }
    }

    func send(_ bytes: [UInt8], to path: String) async throws {
        let staged = try await disk.stage()
        do {
            try await disk.write(bytes, staged: staged)
            try await store.put(staged, at: path) { _ in }
            await disk.discard(staged)
        } catch {
            await disk.discard(staged)
            throw error
        }
    }
}
