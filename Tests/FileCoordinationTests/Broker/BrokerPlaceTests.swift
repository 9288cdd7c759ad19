import Foundation
import Glibc
import SystemPackage
import Testing

@testable import FileCoordination

/// Where a user's processes look for the broker.
@Suite struct BrokerPlaceTests {
    /// A user that this machine has nothing of.
    private let user: UInt32 = 54_321

    private func withHome(mode: Int, owner: UInt32, _ body: (FilePath) throws -> Void) throws {
        let home = FilePath("/tmp/home-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        defer { try? FileManager.default.removeItem(atPath: home.string) }
        guard chown(home.string, owner, owner) == 0 else { throw Errno(rawValue: errno) }
        try body(home)
    }

    @Test("Without XDG_RUNTIME_DIR the broker's place lies in the user's home, where nobody else can take it", .enabled(if: geteuid() == 0))
    func home() throws {
        try withHome(mode: 0o755, owner: user) { home in
            let place = BrokerPlace.standard(environment: ["TMPDIR": "/tmp", "HOME": "/elsewhere"], user: user, home: home)
            #expect(place.directory.starts(with: home.appending(".local/state/ubiquity")))
            #expect(place.directory == BrokerPlace.standard(environment: [:], user: user, home: home).directory)
            let set = BrokerPlace.standard(environment: ["XDG_RUNTIME_DIR": "/run/x"], user: user, home: home)
            #expect(set.directory == "/run/x/ubiquity")
        }
    }

    @Test(
        "A home that is another user's, that others can write in, or that is not there holds no broker's place", .enabled(if: geteuid() == 0),
        arguments: [(0o755, 1), (0o775, 54_321), (0o757, 54_321)])
    func foreignHome(mode: Int, owner: UInt32) throws {
        try withHome(mode: mode, owner: owner) { home in
            #expect(BrokerPlace.standard(environment: [:], user: user, home: home).directory == "/dev/shm/ubiquity-54321")
        }
        #expect(BrokerPlace.standard(environment: [:], user: user, home: "/nonexistent").directory == "/dev/shm/ubiquity-54321")
        #expect(BrokerPlace.standard(environment: [:], user: user, home: nil).directory == "/dev/shm/ubiquity-54321")
    }

    @Test("The directories on the way to a place in a home are made, closed to others")
    func made() throws {
        try withHome(mode: 0o755, owner: geteuid()) { home in
            let place = BrokerPlace(directory: home.pushing("a/b/c"), below: home)
            _ = try place.open()
            _ = try place.open()
            for name in ["a", "a/b", "a/b/c"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: home.pushing(FilePath(name)).string)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
            }
            let other = BrokerPlace(directory: home.pushing("x/y"))
            #expect(throws: FileCoordinationError.self) { try other.open() }
        }
    }
}
