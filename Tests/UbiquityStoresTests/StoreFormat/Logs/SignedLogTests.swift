internal import Foundation
internal import StoreFormat
internal import Testing
internal import UbiquityContainers

struct SignedLogTests {
    private static let peer = PeerIdentifier("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3")!
    private static let key = PrivateKey(bytes: Array(1...32))!
    private static let container = ScopeIdentifier(hash(1))
    private static let rights = LogRights(
        container: container, policy: StatementIdentifier(hash(2)), certificate: StatementIdentifier(hash(3)))

    private static func hash(_ byte: UInt8) -> ContentHash { ContentHash(of: [byte]) }

    private static func unsigned(_ rights: LogRights? = rights, sequence: Int64 = 1, after predecessor: ContentHash? = nil) -> [UInt8] {
        var header = LogHeader(
            peer: peer, contentName: "Scores", epoch: 1, sequence: sequence, predecessor: predecessor, news: Knowledge(), schema: "v1",
            created: Date(timeIntervalSince1970: 1_800_000_000), saves: 1, changes: 0)
        header.rights = rights
        return LogFile.encode(header, body: LogBodyBuilder().encoded(time: HybridTime(milliseconds: 1_800_000_000_000)))
    }

    private static func log() -> (bytes: [UInt8], name: LogFileName) {
        let bytes = unsigned()
        let hash = ContentHash(of: bytes)
        return (LogFile.signed(bytes, hash, with: key, in: container), LogFileName(sequence: 1, hash: hash))
    }

    @Test("A signed log gives back its rights, its changes and its signature; the hash in its name does not cover the signature")
    func roundTrip() throws {
        let (bytes, name) = Self.log()
        let log = try LogFile(decoding: bytes, named: name)
        #expect(log.header.rights == Self.rights)
        #expect(log.isSigned(by: Self.key.publicKey, name.hash))
        #expect(bytes.count == Self.unsigned().count + 64)
        #expect(try LogBody.decode(log).groups.allSatisfy { $0.rows.isEmpty })
    }

    @Test("P-08: a log with one altered byte, another's signature or another container is refused by name")
    func altered() throws {
        let (bytes, name) = Self.log()
        for index in bytes.indices {
            for flip: UInt8 in [0x01, 0x80] {
                var altered = bytes
                altered[index] ^= flip
                guard let log = try? LogFile(decoding: altered, named: name) else { continue }
                // The name does not cover the signature; the key does.
                #expect(index >= bytes.count - 64)
                #expect(!log.isSigned(by: Self.key.publicKey, name.hash))
            }
        }
        let thief = PrivateKey()
        let foreign = try LogFile(decoding: LogFile.signed(Self.unsigned(), name.hash, with: thief, in: Self.container), named: name)
        #expect(!foreign.isSigned(by: Self.key.publicKey, name.hash))
        #expect(foreign.isSigned(by: thief.publicKey, name.hash))
        let elsewhere = LogFile.signed(Self.unsigned(), name.hash, with: Self.key, in: ScopeIdentifier(Self.hash(9)))
        #expect(try !LogFile(decoding: elsewhere, named: name).isSigned(by: Self.key.publicKey, name.hash))
    }

    @Test("A signed log cut off at any byte is refused by its name")
    func truncated() throws {
        let (bytes, name) = Self.log()
        for count in bytes.indices { #expect(throws: LogFault.self) { try LogFile(decoding: Array(bytes[..<count]), named: name) } }
        #expect(throws: LogFault.self) { try LogFile(decoding: bytes + [0], named: name) }
    }

    @Test("A log without rights has format 1 and not one byte more than before")
    func plain() throws {
        let bytes = Self.unsigned(nil)
        // The header's first field is the format.
        #expect(Array(bytes[12..<14]) == [0x08, 1])
        #expect(Array(Self.unsigned()[12..<14]) == [0x08, 2])
        let log = try LogFile(decoding: bytes, named: LogFileName(sequence: 1, hash: ContentHash(of: bytes)))
        #expect(log.signature == nil)
        #expect(!log.isSigned(by: Self.key.publicKey, ContentHash(of: bytes)))
    }

    @Test("A log names its predecessor before that is signed, so one signature proves a chain")
    func chain() throws {
        let first = Self.unsigned()
        let second = Self.unsigned(sequence: 2, after: ContentHash(of: first))
        let name = LogFileName(sequence: 2, hash: ContentHash(of: second))
        let log = try LogFile(decoding: LogFile.signed(second, name.hash, with: Self.key, in: Self.container), named: name)
        #expect(log.isSigned(by: Self.key.publicKey, name.hash))
        #expect(log.header.previous == .init(sequence: 1, hash: ContentHash(of: first)))
    }
}
