import FileCoordination
import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

struct ItemStatusTests {
    private func withContainer(_ body: (UbiquityContainer) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
            try await body(container)
        }
    }

    @Test("U-70: what lies below a .nosync is not ubiquitous, yet by Cocoa's names current")
    func ubiquitous() async throws {
        try await withContainer { container in
            let source = DirectoryTransport(container)
            let draft = container.path.appending("Drafts.nosync/Letter.txt")
            #expect(!container.isUbiquitousItem(at: URL(filePath: draft.string)))
            let status = try await source.state(of: draft).status
            #expect(status == .excluded)
            #expect(status.downloadingStatus(isHere: true) == "NSURLUbiquitousItemDownloadingStatusCurrent")
        }
    }

    @Test(
        "U-73: a status has the name of Cocoa's constant, and what is here but stale is Downloaded",
        arguments: [
            (ItemStatus.notDownloaded, false, "NSURLUbiquitousItemDownloadingStatusNotDownloaded"),
            (.downloading, false, "NSURLUbiquitousItemDownloadingStatusNotDownloaded"),
            (.downloading, true, "NSURLUbiquitousItemDownloadingStatusDownloaded"),
            (.downloaded, true, "NSURLUbiquitousItemDownloadingStatusDownloaded"),
            (.waitingToUpload, true, "NSURLUbiquitousItemDownloadingStatusCurrent"),
            (.current, true, "NSURLUbiquitousItemDownloadingStatusCurrent"),
            (.uploading, true, "NSURLUbiquitousItemDownloadingStatusCurrent"),
            (.excluded, true, "NSURLUbiquitousItemDownloadingStatusCurrent"),
            (.conflicted, true, "NSURLUbiquitousItemDownloadingStatusCurrent"),
            (.failed, false, "NSURLUbiquitousItemDownloadingStatusNotDownloaded"),
            (.failed, true, "NSURLUbiquitousItemDownloadingStatusDownloaded"),
            (.unknown, true, nil),
        ] as [(ItemStatus, Bool, String?)])
    func cocoaNames(status: ItemStatus, isHere: Bool, name: String?) {
        #expect(status.downloadingStatus(isHere: isHere) == name)
    }

    @Test(
        "U-73: a status has Cocoa's error where it has one: 4353 not here yet, 4355 nobody to hand it to; 4354, a quota, is that of a full disk",
        arguments: [
            (ItemStatus.notDownloaded, 4353), (.waitingToUpload, 4355), (.downloading, nil), (.downloaded, nil), (.current, nil), (.uploading, nil),
            (.excluded, nil), (.conflicted, nil), (.failed, 4353), (.unknown, nil),
        ] as [(ItemStatus, Int?)])
    func cocoaErrors(status: ItemStatus, code: Int?) {
        #expect(status.ubiquityError?.code.rawValue == code)
        #expect(ItemStatus.ubiquityError(for: .noSpace)?.code.rawValue == 4354)
        #expect(ItemStatus.ubiquityError(for: .diskQuotaExceeded)?.code.rawValue == 4354)
        #expect(ItemStatus.ubiquityError(for: .permissionDenied) == nil)
    }

    /// A transport in which each item has one status.
    private struct OneStatus: Transport {
        let kind = TransportKind.cloud
        let status: ItemStatus

        func condition() async throws -> TransportCondition { TransportCondition(kind) }
        func states(of items: [FilePath]) async throws -> [FilePath: ItemState] {
            Dictionary(items.map { ($0, ItemState(status)) }) { $1 }
        }
        func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] { [:] }
        func published(in directory: FilePath) async {}
        func changes() -> AsyncStream<TransportChange> { AsyncStream { $0.finish() } }
    }

    @Test(
        "U-73: an item's values have the status under Cocoa's names, and its error as that of fetching or of sending",
        arguments: [
            (ItemStatus.current, .current, nil, nil), (.downloaded, .downloaded, nil, nil), (.waitingToUpload, .current, nil, 4355),
            (.uploading, .current, nil, nil), (.failed, .downloaded, 4353, nil), (.unknown, nil, nil, nil),
        ] as [(ItemStatus, ItemResourceValues.DownloadingStatus?, Int?, Int?)])
    func values(status: ItemStatus, name: ItemResourceValues.DownloadingStatus?, fetching: Int?, sending: Int?) async throws {
        try await withContainer { container in
            let letter = URL(filePath: container.documents.appending("Letter.txt").string)
            try Data("text".utf8).write(to: letter)
            let values = try #require(try await container.resourceValues(of: letter, transport: OneStatus(status: status)))
            #expect(values.ubiquitousItemDownloadingStatus == name)
            #expect(values.ubiquitousItemDownloadingError?.code.rawValue == fetching)
            #expect(values.ubiquitousItemUploadingError?.code.rawValue == sending)
        }
    }

    @Test("U-76: an item's values say that it has unresolved conflicts until each is resolved")
    func unresolved() async throws {
        try await withContainer { container in
            let letter = URL(filePath: container.documents.appending("Letter.txt").string)
            try Data("mine".utf8).write(to: letter)
            func hasConflicts() async throws -> Bool? { try await container.resourceValues(of: letter)?.ubiquitousItemHasUnresolvedConflicts }
            #expect(try await hasConflicts() == false)
            for day in ["02", "03"] {
                let copy = container.documents.appending("Letter.sync-conflict-202601\(day)-030405-ABCDEFG.txt")
                try Data("theirs".utf8).write(to: URL(filePath: copy.string))
            }
            let versions = try #require(await FileVersion.unresolvedConflictVersions(ofItemAt: letter))
            #expect(versions.count == 2)
            for version in versions {
                #expect(try await hasConflicts() == true)
                try await version.setResolved(true)
            }
            #expect(try await hasConflicts() == false)
        }
    }

    @Test("the names of statuses in JSON stay as they are")
    func stableNames() {
        #expect(
            ItemStatus.allCases.map(\.rawValue) == [
                "current", "downloaded", "notDownloaded", "downloading", "uploading", "waitingToUpload", "excluded", "conflicted", "failed",
                "unknown",
            ])
    }

    @Test("U-76: without a transport an item is conflicted exactly where it has unresolved versions, and nothing is ever current")
    func conflicts() async throws {
        try await withContainer { container in
            let source = DirectoryTransport(container)
            let files = [
                "Letter.txt", "Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "Other.txt", "README", "README.sync-conflict-20260102-030405",
                "Done.txt", "Done.sync-conflict-20260102-030405-ABCDEFG.txt", "Gone.sync-conflict-20260102-030405-ABCDEFG.txt", "Folder.txt",
            ]
            for name in files { try Data("text".utf8).write(to: URL(filePath: container.documents.appending(name).string)) }
            let folder = container.documents.appending("Folder.sync-conflict-20260102-030405-ABCDEFG.txt")
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
            let done = URL(filePath: container.documents.appending("Done.txt").string)
            for version in try #require(await FileVersion.unresolvedConflictVersions(ofItemAt: done)) { try await version.setResolved(true) }
            let names = ["Letter.txt", "Other.txt", "README", "Done.txt", "Gone.txt", "Folder.txt", "Missing.txt"]
            let statuses = try await source.states(of: names.map(container.documents.appending)).mapValues(\.status)
            #expect(
                names.map { statuses[container.documents.appending($0)]! }
                    == [.conflicted, .unknown, .conflicted, .unknown, .unknown, .unknown, .unknown])
            for name in names {
                let versions = try await FileVersion.unresolvedConflictVersions(ofItemAt: URL(filePath: container.documents.appending(name).string))
                #expect((versions?.isEmpty == false) == (statuses[container.documents.appending(name)] == .conflicted), "\(name)")
            }
        }
    }

    @Test("a path outside the container is refused by name, one that leads out through .. too")
    func outside() async throws {
        try await withContainer { container in
            let path = container.documents.appending("../../other/Letter.txt")
            await #expect {
                try await DirectoryTransport(container).state(of: path)
            } throws: { ($0 as? ContainerError)?.code == .notInContainer && "\($0)".contains("\(path)") }
        }
    }

    @Test("a conflict copy that comes and goes is a change of the item that it is a copy of")
    func changes() async throws {
        try await withContainer { container in
            let changes = DirectoryTransport(container).changes().limited().makeAsyncIterator()
            #expect(try await changes.next() == .below(container.path))
            let copy = URL(filePath: container.documents.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.txt").string)
            try Data("text".utf8).write(to: copy)
            let letter = TransportChange.item(container.documents.appending("Letter.txt"))
            #expect(try await changes.next() == letter)
            // That it was written may be another.
            try ConflictCopy.markResolved(FilePath(copy.path))
            #expect(try await changes.next() == letter)
            try FileManager.default.removeItem(at: copy)
            #expect(try await changes.next() == letter)
        }
    }

    @Test(
        "U-71: a transport that keeps everything everywhere refuses to evict, and to fetch what is not here; what is here need not be fetched"
    )
    func nothingOnDemand() async throws {
        try await withContainer { container in
            let item = container.documents.appending("Letter.txt")
            let agent: any Transport = DirectoryTransport(container)
            await #expect { try await agent.evict(item) } throws: { ($0 as? ContainerError)?.code == .notAvailable && "\($0)".contains("\(item)") }
            await #expect { try await agent.startDownloading(item) } throws: { ($0 as? ContainerError)?.code == .notAvailable }
            try Data("text".utf8).write(to: URL(filePath: item.string))
            try await agent.startDownloading(item)
            #expect(try String(contentsOfFile: item.string, encoding: .utf8) == "text")
            await #expect { try await agent.evict(item) } throws: { ($0 as? ContainerError)?.code == .notAvailable }
        }
    }
}
