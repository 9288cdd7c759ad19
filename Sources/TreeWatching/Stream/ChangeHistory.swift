import DequeModule

/// The last batches that were delivered, within a number of bytes.
struct ChangeHistory {
    private var batches: Deque<TreeChangeBatch> = []
    private var cost = 0
    private let limit: Int
    /// The tick of the last change that is forgotten.
    private var forgotten: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    mutating func append(_ batch: TreeChangeBatch) {
        batches.append(batch)
        cost += batch.cost
        while cost > limit, let oldest = batches.popFirst() {
            cost -= oldest.cost
            forgotten = max(forgotten, oldest.records.last?.tick ?? 0)
        }
    }

    /// The changes with greater ticks; nil where some are forgotten or the tick was never given.
    func changes(since tick: UInt64, last: UInt64) -> [TreeChangeBatch]? {
        guard tick >= forgotten, tick <= last else { return nil }
        var result: [TreeChangeBatch] = []
        for batch in batches {
            guard let end = batch.records.last, end.tick > tick else { continue }
            if let first = batch.records.first, first.tick > tick {
                result.append(batch)
            } else {
                result.append(TreeChangeBatch(root: batch.root, bytes: batch.bytes, records: batch.records.filter { $0.tick > tick }))
            }
        }
        return result
    }
}
