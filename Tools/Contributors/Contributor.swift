internal import Foundation
internal import StoreExchange
package import StoreFormat
package import UbiquityContainers

/// An account of a public container, as its one device has it: with keys of its own, a signed first statement, and a chain
/// of signed logs.
///
/// It has neither a device home nor a store, which would take too long for many thousands of accounts. What it writes is
/// what a device would write, and every store verifies it.
package struct Contributor: Sendable {
    package let account: AccountIdentifier
    /// The device.
    package let peer: PeerIdentifier
    /// The file of the account's first statement.
    package let statement: [UInt8]
    private let key: PrivateKey
    private let container: ScopeIdentifier
    private var last: LogFileName?
    /// The number of records that the logs insert.
    private var records = 0

    /// Makes the keys of a new account, and signs its first statement.
    ///
    /// - Parameter container: the container that the account contributes to.
    package init(in container: ScopeIdentifier) {
        let identity = PrivateKey()
        key = PrivateKey()
        let (first, account, peer) = ScopeRegistration.firstStatement(identity, key, UUID())
        (self.account, self.peer, self.container) = (account, peer, container)
        statement = first.signed(with: identity, in: container)
    }

    /// Signs the next log, which inserts further records.
    ///
    /// - Parameters:
    ///   - count: the number of records.
    ///   - table: the table of the records.
    /// - Returns: the name and the bytes of the log's file.
    package mutating func insert(_ count: Int, into table: ContributedTable) -> (name: LogFileName, bytes: [UInt8]) {
        var header = LogHeader(
            peer: peer, contentName: table.contentName, epoch: 1, sequence: (last?.sequence ?? 0) + 1, predecessor: last?.hash, news: Knowledge(),
            schema: table.schema, created: Date(timeIntervalSince1970: 1_795_000_000), saves: 1, changes: Int64(count))
        header.rights = LogRights(
            container: container, policy: StatementIdentifier(container.hash), certificate: StatementIdentifier(account.hash))
        let log = LogFile.encode(header, body: table.inserts(records..<records + count, of: account.description))
        let hash = ContentHash(of: log)
        let name = LogFileName(sequence: header.sequence, hash: hash)
        (last, records) = (name, records + count)
        return (name, LogFile.signed(log, hash, with: key, in: container))
    }
}
