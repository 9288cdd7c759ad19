import ContentHashing
import Foundation
import ObjectTransfer
import Testing
import UbiquityContainers

/// Bulletins, which any program with access to a remote may have written.
struct BulletinTests {
    private static let account = try! AccountName("ann")
    private static let peer = "ann~6c1f3a52-4f5b-4a8e-9d3e-1f2a3b4c5d6e"
    private static let device = TransferDevice("0b3d4f5a-1111-4222-8333-444455556666")!
    private static let hash = ContentHash(of: [1, 2, 3])

    private static func sample() -> Bulletin {
        var bulletin = Bulletin(device: device, number: 7, previous: hash)
        bulletin.peers = [PeerIdentifier(peer)!]
        bulletin.uploaded[TransferPath("org.example.notes/CoreData/Notes/\(peer)/1/1.ublog", of: account)!] = FileDigest(size: 3, hash: hash)
        bulletin.removed = [TransferPath("org.example.notes/CoreData/Notes/\(peer)/1/receipts/1", of: account)!]
        return bulletin
    }

    private static func decode(_ json: String, number: Int64 = 7) throws -> Bulletin {
        let bytes = Array(json.utf8)
        return try Bulletin(decoding: bytes, named: Bulletin.name(device, number, bytes), of: account)
    }

    @Test("A bulletin is read as it was written, equal ones have equal bytes, and its name says device, number and hash")
    func readBack() throws {
        let bytes = Self.sample().encoded
        let name = Bulletin.name(Self.device, 7, bytes)
        #expect(try Bulletin(decoding: bytes, named: name, of: Self.account) == Self.sample())
        #expect(Self.sample().encoded == bytes)
        #expect(name.description == "\(Self.device).0000000007.\(ContentHash(of: bytes))" && BulletinName(name.description) == name)
        for text in ["", "x", "\(Self.device).7.\(Self.hash)", "\(Self.device).0000000000.\(Self.hash)", "\(name).tmp"] {
            #expect(BulletinName(text) == nil)
        }
    }

    @Test("K-04: bytes that are not those of the name are refused, wherever they are cut")
    func cut() throws {
        let bytes = Self.sample().encoded
        let name = Bulletin.name(Self.device, 7, bytes)
        for count in 0..<bytes.count {
            #expect(throws: Bulletin.Fault.self) { try Bulletin(decoding: Array(bytes.prefix(count)), named: name, of: Self.account) }
        }
    }

    @Test("K-18: what a bulletin may not say is refused as a whole, and named")
    func hostile() throws {
        let whole = String(decoding: Self.sample().encoded, as: UTF8.self)
        #expect(throws: Never.self) { try Self.decode(whole) }
        let log = "org.example.notes/CoreData/Notes/\(Self.peer)/1/1.ublog"
        let cases: [(String, String, String)] = [
            (log, "/etc/passwd", "/etc/passwd"), (log, "org.example.notes/../../bob/1.ublog", ".."),
            (log, log.replacing("ann~", with: "bob~"), "bob~"), ("\"size\":3", "\"size\":-1", "no size or hash"),
            ("\"size\":3", "\"size\":99999999999999999999", "another type"), (Self.hash.description, "zz", "does not name the bulletin before it"),
            ("\"\(Self.peer)\"", "\"bob~6c1f3a52-4f5b-4a8e-9d3e-1f2a3b4c5d6e\"", "no peer of the account"),
            ("\"number\":7", "\"number\":8", "bulletin 8"),
            ("\"format\":1", "\"format\":0", "lacks a member"), ("\"removed\":[", "\"removed\":[\"\(log)\",", "both"),
            ("\"uploaded\":[", "\"uploaded\":[{\"path\":\"\(log)\",\"size\":1,\"sha256\":\"\(Self.hash)\"},", "twice"),
        ]
        for (old, new, words) in cases {
            #expect(whole.contains(old), "\(old)")
            let fault = #expect(throws: Bulletin.Fault.self, "\(new)") { try Self.decode(whole.replacing(old, with: new)) }
            #expect("\(fault!)".contains(words), "\(fault!)")
        }
        for json in ["", "[]", "{}", "null", "{\"format\":1}", String(repeating: "[", count: 100_000)] {
            #expect(throws: Bulletin.Fault.self) { try Self.decode(json) }
        }
    }

    @Test("A bulletin and a remote of a newer format are known as such, whatever else they hold")
    func newer() throws {
        #expect(throws: Bulletin.Fault.newerFormat(2)) { try Self.decode("{\"format\":2,\"something\":[]}") }
        #expect(throws: Bulletin.Fault.newerFormat(9)) { try Canary(decoding: Array("{\"format\":9,\"identifier\":\"?\"}".utf8)) }
        let canary = Canary()
        #expect(try Canary(decoding: canary.encoded) == canary)
        #expect(throws: Bulletin.Fault.self) { try Canary(decoding: Array("{\"format\":1,\"identifier\":\"?\"}".utf8)) }
    }
}
