import Foundation
import Testing

@testable import TreeWatching

@Suite struct MountTableTests {
    @Test(
        "A line of mountinfo tells the place, the number and the type of a mount, with and without optional fields",
        arguments: [
            ("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue", "/mnt2", "36", "ext3", false),
            ("40 35 0:50 / /home/a\\040b rw - fuse.sshfs host: rw", "/home/a b", "40", "fuse.sshfs", true),
            ("41 35 0:51 / /net rw shared:1 master:2 - nfs4 server:/ rw", "/net", "41", "nfs4", true),
            ("42 35 0:52 / /x\\134y rw - tmpfs tmpfs rw", "/x\\y", "42", "tmpfs", false),
        ])
    func lines(_ line: String, _ point: String, _ number: String, _ type: String, _ isProvided: Bool) throws {
        let (found, mount) = try #require(MountTable.parse(line))
        #expect(String(decoding: found, as: UTF8.self) == point && mount == .init(number: number, type: type) && mount.isProvided == isProvided)
    }

    @Test("What is no line of mountinfo is left out", arguments: ["", "36 35 98:0 / /mnt rw", "36 35 98:0 / /mnt rw master:1 ext3 x rw", "a - b"])
    func noise(_ line: String) { #expect(MountTable.parse(line) == nil) }

    @Test("A path that leads through symbolic links lies on the mount at their end; a circle of links ends")
    func links() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let proc = try #require(MountTable.mount(of: Array("/proc".utf8)))
        for (name, target) in [("a", "b/.."), ("b", "/proc/sys"), ("circle", "circle")] {
            try FileManager.default.createSymbolicLink(atPath: "\(directory)/\(name)", withDestinationPath: target)
        }
        #expect(MountTable.mount(of: Array("\(directory)/a/self".utf8)) == proc)
        #expect(MountTable.mount(of: Array("\(directory)/circle/x".utf8)) == MountTable.mount(of: Array(directory.utf8)))
    }

    @Test("A path lies on the nearest mount above it, not on one whose name only begins like it")
    func nearest() throws {
        let root = try #require(MountTable.mount(of: Array("/".utf8)))
        #expect(MountTable.mount(of: Array("/procession/x".utf8)) == root)
        let proc = try #require(MountTable.mount(of: Array("/proc".utf8)))
        #expect(proc.type == "proc" && !proc.isProvided && MountTable.mount(of: Array("/proc/self/fd".utf8)) == proc)
    }
}
