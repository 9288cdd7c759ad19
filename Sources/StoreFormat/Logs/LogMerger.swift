/// Merges several consecutive logs into one, with all groups in their order.
package struct LogMerger {
    /// The maximum number of saves in one log.
    ///
    /// It limits how often one log can bring a record back (``LifeLimit``).
    package static let mostSaves: Int64 = 1 << 16

    private var header: LogHeader?
    private var contents = LogBody.Contents()

    package init() {}

    /// Returns whether a log can be appended to the others.
    ///
    /// A log with a part of a save stays a log of its own.
    package func takes(_ log: LogFile) -> Bool {
        guard let header else { return true }
        return header.schema == log.header.schema && header.peer == log.header.peer && !header.isPart && !log.header.isPart
            && header.saves + log.header.saves <= Self.mostSaves
    }

    package mutating func add(_ log: LogFile) throws(LogFault) {
        let more = try LogBody.decode(log)
        var places: [Int] = []
        for table in more.tables {
            places.append(contents.tables.firstIndex(of: table) ?? contents.tables.count)
            if places.last == contents.tables.count { contents.tables.append(table) }
        }
        for var group in more.groups {
            for index in group.rows.indices { group.rows[index].table = places[group.rows[index].table] }
            for index in group.same.indices { group.same[index].table = places[group.same[index].table] }
            contents.groups.append(group)
        }
        for (peer, fact) in more.retired { contents.retire(peer, fact) }
        guard var whole = header else {
            header = log.header
            return
        }
        whole.created = log.header.created
        whole.saves += log.header.saves
        whole.changes += log.header.changes
        for entry in log.header.news.entries { whole.news.insert(entry.position, of: entry.peer) }
        header = whole
    }

    /// Returns the merged log, as the next log of its author.
    package func finish(sequence: Int64, predecessor: ContentHash?) -> (header: LogHeader, body: [UInt8]) {
        var header = header!
        header.sequence = sequence
        header.predecessor = predecessor
        return (header, contents.encoded())
    }
}
