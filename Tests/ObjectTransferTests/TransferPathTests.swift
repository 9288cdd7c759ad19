import ObjectTransfer
import Testing
import UbiquityContainers

/// The paths that a transfer reads and writes, whatever a bulletin says.
struct TransferPathTests {
    private let account = try! AccountName("ann@example.org")
    private let peer = "ann@example.org~6c1f3a52-4f5b-4a8e-9d3e-1f2a3b4c5d6e"

    @Test("The files of stores and marks have paths, with what they are and to which epoch they belong")
    func known() throws {
        let content = "org.example.notes/CoreData/Notes"
        let cases: [(String, TransferPath.Role, Int64?)] = [
            ("org.example.notes/.ubiquity/\(peer)", .mark, nil), ("\(content)/epochs/3.\(peer)", .mark, 3),
            ("\(content)/\(peer)/2/00000001.\(String(repeating: "a", count: 64)).ublog", .log, 2), ("\(content)/\(peer)/2/values/ab", .value, 2),
            ("\(content)/\(peer)/2/baselines/7.ubbaseline", .baseline, 2), ("\(content)/\(peer)/2/receipts/12", .receipt, 2),
            ("org.example.notes/\(peer)/0/1.ublog", .log, 0),
        ]
        for (text, role, epoch) in cases {
            let path = try #require(TransferPath(text, of: account), "\(text)")
            #expect(path.description == text && path.role == role && path.epoch?.number == epoch && path.peer.description == peer)
            #expect(path.container == "org.example.notes")
        }
    }

    @Test(
        "K-18: absolute paths, paths that leave the account, of another account, of what stays here or of documents are no paths of a transfer",
        arguments: [
            "/etc/passwd", "../ann/x", "org.example.notes/../../etc/passwd", "org.example.notes/./.ubiquity/PEER",
            "org.example.notes//.ubiquity/PEER",
            "org.example.notes/Documents/Letter.txt", ".hidden/.ubiquity/PEER", "org.example.notes/.ubiquity/PEER/x",
            "org.example.notes/.ubiquity/bob~6c1f3a52-4f5b-4a8e-9d3e-1f2a3b4c5d6e",
            "org.example.notes/CoreData/Notes/bob~6c1f3a52-4f5b-4a8e-9d3e-1f2a3b4c5d6e/1/1.ublog",
            "org.example.notes/CoreData/Notes/PEER/1/tmp.nosync/x", "org.example.notes/x.nosync/PEER/1/1.ublog",
            "org.example.notes/CoreData/Notes/PEER/01/1.ublog", "org.example.notes/CoreData/Notes/PEER/-1/1.ublog",
            "org.example.notes/CoreData/Notes/PEER/1", "org.example.notes/CoreData/Notes/PEER/1/values/a/b",
            "org.example.notes/CoreData/Notes/PEER/1/a\u{0}b", "org.example.notes/CoreData/Notes/PEER/1/.syncthing.1.ublog.tmp",
            "org.example.notes/CoreData/Notes/epochs/+1.PEER", "", "/", "a/b/c",
        ])
    func refused(_ text: String) { #expect(TransferPath(text.replacing("PEER", with: peer), of: account) == nil) }

    @Test("A path or a name that is too long for a file system is no path of a transfer")
    func long() {
        let long = String(repeating: "x", count: 256)
        #expect(TransferPath("org.example.notes/CoreData/Notes/\(peer)/1/\(long)", of: account) == nil)
        let deep = String(repeating: "x/", count: 600)
        #expect(TransferPath("org.example.notes/\(deep)\(peer)/1/1.ublog", of: account) == nil)
    }

    @Test("Files travel behind what they need: values, baselines, logs, receipts, marks")
    func order() throws {
        let content = "org.example.notes/CoreData/Notes/\(peer)/1"
        let paths = try [
            "\(content)/receipts/1", "\(content)/1.ublog", "org.example.notes/.ubiquity/\(peer)", "\(content)/values/z", "\(content)/baselines/1",
        ]
        .map { try #require(TransferPath($0, of: account)) }
        #expect(paths.sorted().map(\.role) == [.value, .baseline, .log, .receipt, .mark])
    }
}
