internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// States in receipts what a store knows, and the files that it waits for.
struct ReceiptWriter {
    let scope: ExchangeScope

    /// Publishes a receipt if it differs from the last one.
    func publish(_ peers: inout PeerDirectory) throws {
        let (state, knowledge, quarantined, fact) = try scope.file.pool.read { db in
            let state = try StoreState.read(db)
            return (state, try StoreKnowledge.all(state, db), try QuarantinedLog.list(db), try Retirements.all(db)[state.peer])
        }
        let awaits = peers.awaits(besides: quarantined)
        // A retired peer returns with a greater number.
        let isRetired = fact?.isInForce(state.receipt) == true
        guard peers.needsReceipt(knowledge, awaits: awaits, isRetired: isRetired) else { return }
        let receipts = scope.layout.receipts(of: scope.peer, epoch: scope.epoch)
        let there = try scope.files.names(in: receipts).compactMap(Receipt.number(ofFile:)).max()
        if peers.lastReceipt == nil, !isRetired, let there, let bytes = try? scope.files.read(receipts.appending(String(there)), limit: 16 << 20),
            let receipt = Receipt(decoding: bytes), receipt.stated == knowledge, receipt.migrations == scope.file.migrations,
            receipt.awaits ?? [] == awaits
        {
            peers.told(knowledge, awaits: awaits)
            return
        }
        try scope.files.makeDirectory(receipts)
        let receipt = Receipt(
            peer: scope.peer, epoch: scope.epoch, knowledge: knowledge, awaits: awaits, migrations: scope.file.migrations,
            // A configuration that cannot be read is the doctor's.
            device: try? scope.context.container?.home.deviceName, time: scope.context.now())
        var number = max(state.receipt, there ?? 0, fact?.receipt ?? 0) + 1
        while try !publish(receipt, number) { number += 1 }
        scope.context.log.exchange(
            "published receipt \(number): \(counted(knowledge.entries.count, "peer")) known, \(counted(awaits.count, "file")) awaited")
        peers.told(knowledge, awaits: awaits)
    }

    /// Publishes a receipt; returns false if a copy of this store has just used the number.
    private func publish(_ receipt: Receipt, _ number: Int64) throws -> Bool {
        try scope.file.pool.write { db in try db.cachedStatement(sql: "UPDATE ubiquity_state SET receipt = ?").execute(arguments: [number]) }
        Waypoint.receiptNumbered.pass()
        do {
            try scope.context.publisher.publish(receipt, number: number, of: scope.peer, epoch: scope.epoch)
            return true
        } catch Errno.fileExists {
            return false
        }
    }
}
