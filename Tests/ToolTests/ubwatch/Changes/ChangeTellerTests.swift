import Foundation
import Testing

@testable import StoreInspection
@testable import ubwatch

@Suite struct ChangeTellerTests {
    private static let peer = "alice~0a1b2c3d-0000-4000-8000-000000000001"
    private static let hash = String(repeating: "ab", count: 32)

    @Test(
        "A path tells what it is",
        arguments: [
            ("", ContainerPlace.container), (".ubiquity/\(peer)", .mark(peer: peer)), (".ubiquity/other", .other), ("Documents", .item),
            ("Documents/CoreData/x.ublog", .item), ("CoreData/Notes", .store("Notes")), ("CoreData", .other), ("CoreData/Notes/epochs", .other),
            ("CoreData/Notes/epochs/3.\(peer)", .epochMark(store: "Notes", epoch: 3, peer: peer)), ("CoreData/Notes/epochs/03.\(peer)", .other),
            ("CoreData/Notes/\(peer)/2/000000000012.\(hash).ublog", .log(store: "Notes", peer: peer, epoch: 2, sequence: 12)),
            ("CoreData/Notes/\(peer)/2/000000000012.\(hash).sync-conflict-1.ublog", .other), ("CoreData/Notes/\(peer)", .other),
            ("CoreData/Notes/\(peer)/2/baselines/000000000040.\(hash).ubbaseline", .baseline(store: "Notes", peer: peer, epoch: 2, sequence: 40)),
            ("CoreData/Notes/\(peer)/2/receipts/7", .receipt(store: "Notes", peer: peer, epoch: 2, number: 7)),
            ("CoreData/Notes/\(peer)/2/values/\(hash)", .value(store: "Notes", peer: peer)), ("CoreData/Notes/\(peer)/2/tmp.nosync/x", .draft),
            ("CoreData/Notes/\(peer)/2/.syncthing.x.ublog.tmp", .draft), ("Documents/~syncthing~a.txt.tmp", .draft),
        ] as [(String, ContainerPlace)])
    func places(path: String, place: ContainerPlace) { #expect(ContainerPlace(path) == place) }

    @Test("A change is told in words, at the level that it matters at, and whose it is")
    func words() throws {
        var teller = ChangeTeller(container: "/c")
        teller.own = [Self.peer]
        let store = "CoreData/Notes/\(Self.peer)/2"
        let table: [(String, ChangeTeller.Event, String?, ContainerChange.Level, String)] = [
            (".ubiquity/\(Self.peer)", .came, nil, .container, "alice~0a1b2c3d is attached"),
            (".ubiquity/\(Self.peer)", .went, nil, .container, "the attachment mark of alice~0a1b2c3d is gone"),
            ("CoreData/Notes/epochs/3.\(Self.peer)", .came, nil, .container, "Notes: epoch 3, marked by alice~0a1b2c3d"),
            ("\(store)/000000000012.\(Self.hash).ublog", .came, nil, .file, "Notes: log 12 of alice~0a1b2c3d"),
            ("\(store)/000000000012.\(Self.hash).ublog", .went, nil, .file, "Notes: log 12 of alice~0a1b2c3d is gone"),
            ("\(store)/receipts/7", .came, nil, .everything, "Notes: alice~0a1b2c3d has read on (receipt 7)"),
            ("Documents/b.txt", .moved, "Documents/a.txt", .file, "Documents/a.txt is now Documents/b.txt"),
            ("Documents/b.txt", .changed, nil, .file, "Documents/b.txt has changed"),
        ]
        for (path, event, from, level, text) in table {
            let change = try #require(teller.tell(path, at: Date(), event, isDirectory: false, from: from))
            #expect(change.text == text && change.level == level && change.path == path)
            #expect(change.isOwn == (change.peer == nil ? nil : true))
            #expect(change.isRemoved == (event == .went))
        }
    }

    private static let peers = (0...4).map { "alice~0000000\($0)-0000-4000-8000-000000000001" }

    private static let names = PeerNames([
        (peer: peers[0], device: "desk", app: "notes"), (peer: peers[1], device: "desk", app: "notes"),
        (peer: peers[2], device: "phone", app: "notes"), (peer: peers[3], device: nil, app: nil), (peer: peers[4], device: "desk", app: "mail"),
    ])

    @Test("Peers are named by their devices, by their apps too where that tells them apart, else by the start of their identifiers")
    func names() {
        let expected = ["desk (00000000)", "desk (00000001)", "phone", "alice~00000003", "desk (mail)"]
        #expect(Self.peers.map { Self.names[$0] } == expected)
        #expect(Self.peers.map { PeerNames.identifiers[$0] } == Self.peers)
    }

    @Test("A sentence has names in the place of identifiers; the identifiers of paths stay, because the paths would lead nowhere")
    func sentences() {
        let (phone, desk) = (Self.peers[2], Self.peers[0])
        let text = "log 3 of \(phone) awaits \(desk); see /c/\(phone)/1/x and \(desk)/1, /d/\(phone): \(phone)"
        #expect(Self.names.naming(text) == "log 3 of phone awaits desk (00000000); see /c/\(phone)/1/x and \(desk)/1, /d/\(phone): phone")
        #expect(PeerNames.identifiers.naming(text) == text)
        #expect(PeerNames().naming(text) == text)
    }
}
