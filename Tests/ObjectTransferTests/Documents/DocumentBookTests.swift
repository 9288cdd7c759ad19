import ContentHashing
import Foundation
import ObjectTransfer
import Testing
import UbiquityContainers
import UbiquityTesting

/// What follows from the versions of documents, without files.
struct DocumentBookTests {
    private let path = DocumentPath("org.example.notes/Documents/Letter.txt")!
    private let mac = TransferDevice(UUID())
    private let phone = TransferDevice(UUID())
    private let tablet = TransferDevice(UUID())

    private func content(_ text: String) -> DocumentContent {
        let digest = FileDigest(size: Int64(text.utf8.count), hash: ContentHash(of: Array(text.utf8)))
        return DocumentContent(isPackage: false, files: [.init(path: "", digest: digest, chunks: [digest])], modified: 0)
    }

    private func version(_ text: String?, _ edits: [TransferDevice: Int64], by device: TransferDevice, over old: [String] = []) -> DocumentVersion {
        DocumentVersion(vector: VersionVector(edits)!, content: text.map(content), device: device, replaced: old.map { content($0).hash })
    }

    private func book(_ versions: [DocumentVersion], own: TransferDevice? = nil) -> DocumentBook {
        var book = DocumentBook()
        for version in versions { book.take(path, version, own: own ?? mac, now: Date()) }
        return book
    }

    @Test("K-15: versions are a join: in every order of arrival the same ones stay, and the same one is shown")
    func join() {
        let versions = [
            version("one", [mac: 1], by: mac), version("two", [mac: 1, phone: 1], by: phone), version("three", [mac: 1, tablet: 1], by: tablet),
            version("four", [mac: 2, tablet: 1], by: mac), version(nil, [mac: 1, phone: 2], by: phone),
        ]
        let expected = book(versions).records[path]
        #expect(expected?.versions.count == 2)
        #expect(expected?.shown?.content == content("four"))
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 { #expect(book(versions.shuffled(using: &random)).records[path] == expected) }
    }

    @Test("An edit beats a removal that did not know it, and a removal beats the version that it knew")
    func removal() {
        #expect(book([version("one", [mac: 1], by: mac), version(nil, [mac: 1, phone: 1], by: phone)]).records[path]?.shown == nil)
        let concurrent = book([version(nil, [mac: 1, phone: 1], by: phone), version("new", [mac: 2], by: mac)])
        #expect(concurrent.records[path]?.shown?.content == content("new"))
        #expect(concurrent.records[path]?.lost.isEmpty == true)
    }

    @Test("Two devices that wrote the same bytes are in no conflict, and the next edit contains both")
    func sameBytes() {
        var book = book([version("one", [mac: 1], by: mac), version("one", [phone: 1], by: phone)])
        #expect(book.records[path]?.lost.isEmpty == true)
        book.found(path, content("one"), .item(DocumentStamp(value: 1)))
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
        book.found(path, content("two"), .item(DocumentStamp(value: 2)))
        #expect(book.steps(path, of: mac, DownloadRules()) == [.send(version("two", [mac: 2, phone: 1], by: mac, over: ["one"]))])
    }

    @Test("A home that was cloned makes two versions with the same edits; both stay, in conflict")
    func cloned() {
        let record = book([version("one", [mac: 1], by: mac), version("other", [mac: 1], by: mac)]).records[path]
        #expect(record?.versions.count == 2 && record?.lost.count == 1)
    }

    @Test("A device that has lost its index never makes a version that seems to be an old one of its own")
    func lostIndex() {
        var book = book([version("one", [mac: 5, phone: 2], by: mac)])
        book.found(path, content("edited offline"), .item(DocumentStamp(value: 1)))
        guard case .send(let version)? = book.steps(path, of: mac, DownloadRules()).first else {
            Issue.record("nothing is sent")
            return
        }
        let old = book.records[path]!.versions[0]
        #expect(!version.vector.contains(old.vector) && !old.vector.contains(version.vector))
        // What it was made of is not known, so it is in conflict with what is there, and nothing is lost.
        book.take(path, version, own: mac, now: Date())
        #expect(book.records[path]?.versions.count == 2)
    }

    @Test("A device that has lost its index takes what a version has replaced for an old version, and sends and keeps nothing of it")
    func lostIndexOfAnOldVersion() {
        for (newest, step) in [
            (version(nil, [mac: 2], by: mac, over: ["one"]), DocumentStep.remove),
            (version("two", [mac: 2], by: mac, over: ["one"]), .fetch(version("two", [mac: 2], by: mac, over: ["one"]))),
        ] {
            var book = book([newest])
            book.found(path, content("one"), .item(DocumentStamp(value: 1)))
            #expect(book.steps(path, of: phone, DownloadRules()) == [step])
            // The same if the device was looked at before the bulletins were.
            var late = DocumentBook()
            late.found(path, content("one"), .item(DocumentStamp(value: 1)))
            late.take(path, newest, own: phone, now: Date())
            #expect(late.steps(path, of: phone, DownloadRules()) == [step])
        }
    }

    @Test("A version that is shown elsewhere replaces what is here; an edit here is sent first")
    func edits() {
        var book = book([version("one", [mac: 1], by: mac)])
        book.found(path, content("one"), .item(DocumentStamp(value: 1)))
        let next = version("two", [mac: 1, phone: 1], by: phone)
        book.take(path, next, own: mac, now: Date())
        #expect(book.steps(path, of: mac, DownloadRules()) == [.fetch(next)])
        book.found(path, content("mine"), .item(DocumentStamp(value: 2)))
        #expect(book.steps(path, of: mac, DownloadRules()) == [.send(version("mine", [mac: 2], by: mac))])
    }

    @Test("K-15: an edit that follows one which waits to be stated contains it, and a return to the bytes before it is an edit too")
    func followingEdit() {
        for (text, replaced) in [("three", ["two", "one"]), ("one", ["two"])] {
            var book = book([version("one", [mac: 1], by: mac)])
            book.found(path, content("one"), .item(DocumentStamp(value: 1)))
            book.found(path, content("two"), .item(DocumentStamp(value: 2)))
            let waiting = version("two", [mac: 2], by: mac, over: ["one"])
            #expect(book.steps(path, of: mac, DownloadRules()) == [.send(waiting)])
            book.intends(path, waiting)
            book.uploaded(path, waiting)
            book.found(path, content(text), .item(DocumentStamp(value: 3)))
            #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
            book.told(path, waiting, now: Date())
            book.take(path, waiting, own: mac, now: Date())
            #expect(book.steps(path, of: mac, DownloadRules()) == [.send(version(text, [mac: 3], by: mac, over: replaced))])
            #expect(book.records[path]?.lost.isEmpty == true)
        }
    }

    @Test("Pieces that only a superseded version names are doomed once the version that supersedes it is stated, and not before")
    func doomedPieces() {
        for isRemoval in [false, true] {
            var book = book([version("one", [mac: 1], by: mac)])
            book.found(path, content("one"), .item(DocumentStamp(value: 1)))
            let next = version(isRemoval ? nil : "two", [mac: 2], by: mac, over: ["one"])
            if isRemoval { book.withdraws(path, next) } else { book.uploaded(path, next) }
            #expect(book.doomed.isEmpty)
            book.told(path, next, now: Date())
            #expect(Array(book.doomed.keys) == content("one").chunks.map(\.hash))
        }
    }

    @Test("A home that finds out that it was cloned states what waits under its new identifier, beside the other home's edit with the same number")
    func clonedWhileWaiting() {
        var book = book([version("one", [mac: 1], by: mac)])
        for (stamp, text) in ["one", "two"].enumerated() { book.found(path, content(text), .item(DocumentStamp(value: UInt64(stamp)))) }
        book.uploaded(path, version("two", [mac: 2], by: mac, over: ["one"]))
        book.rename(phone)
        let renamed = version("two", [mac: 1, phone: 1], by: phone, over: ["one"])
        #expect(book.untold == [path: renamed] && book.records[path]?.versions == [renamed])
        book.told(path, renamed, now: Date())
        #expect(book.untold.isEmpty)
        for (text, number) in [("other", Int64(2)), ("later", 3)] { book.take(path, version(text, [mac: number], by: mac), own: phone, now: Date()) }
        #expect(book.records[path]?.live.count == 2)
        book.found(path, content("three"), .item(DocumentStamp(value: 3)))
        #expect(book.steps(path, of: phone, DownloadRules()) == [.send(version("three", [mac: 1, phone: 2], by: phone, over: ["two", "one"]))])
    }

    @Test("An upload that was cut off is over once another device has stated the same bytes")
    func uploadedElsewhere() {
        var book = book([version("one", [phone: 1], by: phone)])
        for (stamp, text) in ["one", "two"].enumerated() { book.found(path, content(text), .item(DocumentStamp(value: UInt64(stamp)))) }
        book.intends(path, version("two", [phone: 1, mac: 1], by: mac, over: ["one"]))
        book.take(path, version("two", [phone: 2], by: phone, over: ["one"]), own: mac, now: Date())
        #expect(book.records[path]?.intent == nil && book.records[path]?.isCurrent == true)
    }

    @Test("An upload that was begun is of no meaning once the document has other bytes, also those of a version before")
    func abandonedUpload() {
        var book = book([version("one", [mac: 1], by: mac)])
        for (stamp, text) in ["one", "two"].enumerated() { book.found(path, content(text), .item(DocumentStamp(value: UInt64(stamp)))) }
        book.intends(path, version("two", [mac: 2], by: mac, over: ["one"]))
        book.found(path, content("one"), .item(DocumentStamp(value: 3)))
        #expect(book.records[path]?.intent == nil && book.steps(path, of: mac, DownloadRules()).isEmpty)
        book.found(path, content("three"), .item(DocumentStamp(value: 4)))
        #expect(book.steps(path, of: mac, DownloadRules()) == [.send(version("three", [mac: 2], by: mac, over: ["one"]))])
    }

    @Test("What was removed and is put back with the same bytes is an edit that contains the removal, also before that is stated")
    func restored() {
        for isStated in [true, false] {
            var book = book([version("one", [mac: 1], by: mac)])
            book.found(path, content("one"), .item(DocumentStamp(value: 1)))
            for _ in 0..<2 { book.missed([path], isWhole: true) { _ in true } }
            let removal = version(nil, [mac: 2], by: mac, over: ["one"])
            #expect(book.steps(path, of: mac, DownloadRules()) == [.withdraw(removal)])
            book.withdraws(path, removal)
            if isStated { book.told(path, removal, now: Date()) }
            book.found(path, content("one"), .item(DocumentStamp(value: 2)))
            book.told(path, removal, now: Date())
            #expect(book.steps(path, of: mac, DownloadRules()) == [.send(version("one", [mac: 3], by: mac))])
        }
        // So it is where another device has removed it, and this one has looked since. After a wipe, what comes back can be old.
        for isWiped in [false, true] {
            let removal = version(nil, [phone: 2], by: phone, over: ["one"])
            var book = book([removal])
            book.absent([path])
            if isWiped { book.missed([], isWhole: true) { _ in false } }
            book.found(path, content("one"), .item(DocumentStamp(value: 1)))
            #expect(book.steps(path, of: mac, DownloadRules()) == [isWiped ? .remove : .send(version("one", [phone: 2, mac: 1], by: mac))])
        }
        // A fetch that was cut off before it was noted has put nothing back.
        var book = book([version("one", [phone: 1], by: phone)])
        book.absent([path])
        book.expects(path)
        book.take(path, version(nil, [phone: 2], by: phone, over: ["one"]), own: mac, now: Date())
        book.found(path, content("one"), .item(DocumentStamp(value: 1)))
        #expect(book.steps(path, of: mac, DownloadRules()) == [.remove])
    }

    @Test("K-15: an edit of the version that is shown contains no version of the same device that lost")
    func ownLoser() {
        var book = book([version("mine", [mac: 1], by: mac), version("b", [phone: 2], by: phone)])
        book.found(path, content("b"), .item(DocumentStamp(value: 1)))
        book.found(path, content("edited"), .item(DocumentStamp(value: 2)))
        guard case .send(let version)? = book.steps(path, of: mac, DownloadRules()).first else {
            Issue.record("nothing is sent")
            return
        }
        book.uploaded(path, version)
        book.told(path, version, now: Date())
        book.take(path, version, own: mac, now: Date())
        #expect(book.records[path]?.shown == version && book.records[path]?.lost.map(\.content) == [content("mine")])
    }

    @Test("K-15: a conflict is over once somebody has looked at every lost version, and the version that ends it contains all")
    func resolution() {
        var book = book([version("a", [mac: 1], by: mac), version("b", [phone: 1], by: phone), version("c", [tablet: 1], by: tablet)])
        let shown = book.records[path]!.shown!
        book.found(path, shown.content!, .item(DocumentStamp(value: 1)))
        let lost = book.records[path]!.lost
        #expect(book.steps(path, of: mac, DownloadRules()) == lost.map { .fetchCopy($0) })
        for (index, version) in lost.enumerated() { book.copied(path, "copy\(index)", version) }
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
        book.resolved(path, ["copy0"])
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
        book.resolved(path, ["copy0", "copy1"])
        guard case .send(let version)? = book.steps(path, of: mac, DownloadRules()).first else {
            Issue.record("nothing is sent")
            return
        }
        #expect(version.content == shown.content && book.records[path]!.versions.allSatisfy { version.vector.contains($0.vector) })
        book.uploaded(path, version)
        book.take(path, version, own: mac, now: Date())
        #expect(book.records[path]?.versions == [version])
    }

    @Test("K-15: somebody who chooses the version that lost makes an edit, which contains both and is shown")
    func choice() {
        var book = book([version("a", [mac: 1], by: mac), version("b", [phone: 1], by: phone)])
        let (shown, lost) = (book.records[path]!.shown!, book.records[path]!.lost[0])
        book.found(path, shown.content!, .item(DocumentStamp(value: 1)))
        book.copied(path, "copy", lost)
        for stamp in 2...3 { book.found(path, lost.content!, .item(DocumentStamp(value: UInt64(stamp)))) }
        guard case .send(let version)? = book.steps(path, of: tablet, DownloadRules()).first else {
            Issue.record("nothing is sent")
            return
        }
        #expect(version.content == lost.content && version.vector.contains(shown.vector) && version.vector.contains(lost.vector))
        book.uploaded(path, version)
        book.told(path, version, now: Date())
        book.take(path, version, own: tablet, now: Date())
        #expect(book.records[path]?.versions == [version] && book.records[path]?.local?.isEdited == false)
    }

    @Test("S-173: a policy and pins say what is fetched, an evicted document stays away, and a wanted one comes")
    func rules() {
        let one = version("one", [phone: 1], by: phone)
        var book = book([one])
        let demand = DownloadRules(policies: ["org.example.notes": .onDemand])
        #expect(book.steps(path, of: mac, DownloadRules()) == [.fetch(one)])
        #expect(book.steps(path, of: mac, demand) == [.hold(one)])
        #expect(book.steps(path, of: mac, DownloadRules(policies: ["org.example.notes": .everythingBelow(bytes: 4)])) == [.fetch(one)])
        #expect(book.steps(path, of: mac, DownloadRules(policies: ["org.example.notes": .everythingBelow(bytes: 3)])) == [.hold(one)])
        #expect(book.steps(path, of: mac, DownloadRules(policies: ["org.example.other": .onDemand])) == [.fetch(one)])
        let pinned = DownloadRules(policies: demand.policies, pinned: ["org.example.notes/Documents"])
        #expect(book.steps(path, of: mac, pinned) == [.fetch(one)])
        book.found(path, one.content!, .placeholder)
        #expect(book.steps(path, of: mac, demand).isEmpty)
        book.wants(path, true)
        #expect(book.steps(path, of: mac, demand) == [.fetch(one)])
        book.found(path, one.content!, .item(DocumentStamp(value: 1)))
        book.evicted(path)
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
        #expect(book.steps(path, of: mac, pinned) == [.fetch(one)])
        // Its newest version is known, and still not here.
        let two = version("two", [phone: 2], by: phone)
        book.take(path, two, own: mac, now: Date())
        #expect(book.steps(path, of: mac, DownloadRules()) == [.hold(two)])
    }

    @Test("A document counts as removed if it is missing twice, while the mark is here and nothing else of the container goes")
    func missing() {
        let other = DocumentPath("org.example.notes/Documents/Other.txt")!
        var book = book([version("one", [mac: 1], by: mac)])
        book.found(path, content("one"), .item(DocumentStamp(value: 1)))
        book.take(other, version("x", [mac: 1], by: mac), own: mac, now: Date())
        book.found(other, content("x"), .item(DocumentStamp(value: 2)))
        book.missed([path], isWhole: true) { _ in true }
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty && book.awaitsLook)
        // Something else goes too: it may be a wipe, which takes its time.
        book.missed([other], isWhole: true) { _ in true }
        #expect(book.steps(path, of: mac, DownloadRules()).isEmpty)
        book.missed([], isWhole: true) { _ in true }
        #expect(book.steps(path, of: mac, DownloadRules()) == [.withdraw(version(nil, [mac: 2], by: mac, over: ["one"]))])
        // The same without the mark: it comes back.
        book.found(path, content("one"), .item(DocumentStamp(value: 1)))
        book.missed([path], isWhole: true) { _ in false }
        #expect(book.steps(path, of: mac, DownloadRules()) == [.fetch(version("one", [mac: 1], by: mac))])
    }

    @Test("An evicted document whose placeholder is removed counts as removed; one that is written instead supersedes it")
    func placeholders() {
        var book = book([version("one", [mac: 1], by: mac)])
        book.found(path, content("one"), .placeholder, isEvicted: true)
        var gone = book
        for _ in 0..<2 { gone.missed([path], isWhole: true) { _ in true } }
        #expect(gone.steps(path, of: phone, DownloadRules()) == [.withdraw(version(nil, [mac: 1, phone: 1], by: phone, over: ["one"]))])
        book.found(path, content("new"), .item(DocumentStamp(value: 1)))
        #expect(book.steps(path, of: phone, DownloadRules()) == [.send(version("new", [mac: 1, phone: 1], by: phone, over: ["one"]))])
    }

    @Test("Pieces are removed by the device whose version makes them superfluous, and not while a version names them")
    func pieces() {
        var book = DocumentBook()
        let one = version("one", [mac: 1], by: mac)
        book.take(path, one, own: mac, now: Date())
        let piece = one.content!.chunks.first!.hash
        #expect(book.hasPiece(piece, for: path) && book.named([piece]) == [piece] && book.doomed.isEmpty)
        var other = book
        book.take(path, version("two", [mac: 2], by: mac), own: mac, now: Date())
        #expect(book.doomed.keys.contains(piece) && book.named([piece]).isEmpty && !book.hasPiece(piece, for: path))
        // Another device has the same bytes under another name meanwhile.
        book.take(DocumentPath("org.example.notes/Documents/Copy.txt")!, version("one", [phone: 1], by: phone), own: mac, now: Date())
        #expect(book.doomed.isEmpty)
        other.take(path, version("two", [mac: 1, phone: 1], by: phone), own: mac, now: Date())
        #expect(other.doomed.isEmpty)
    }
}
