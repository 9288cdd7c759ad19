import Foundation
import Glibc
import SystemPackage

/// What is done to a watched tree.
///
/// Every file has a name of its own, by which it is found among what was reported.
struct WatchingWorkload {
    let root: FilePath
    let outside: FilePath

    /// The names of the files that a tool must report.
    typealias Names = [String]

    /// Waits until a file that stays where it is has been reported; false where it is not.
    typealias Awaiting = (_ name: String) -> Bool

    /// Files in new nested directories, as fast as it goes.
    func storm() -> Names {
        var names: Names = []
        for top in 0..<20 {
            var directory = root.appending("storm\(top)")
            for level in 0..<10 {
                make(directory)
                for file in 0..<100 { names.append(write(directory, "s\(top)-\(level)-\(file)")) }
                directory.append("level\(level)")
            }
        }
        return names
    }

    /// Directories and a file in one breath.
    func makeParents() -> Names {
        (0..<2000).map { number in
            var directory = root.appending("p\(number)")
            for name in ["a", "b", "c"] {
                make(directory)
                directory.append(name)
            }
            make(directory)
            return write(directory, "mkdirp\(number)")
        }
    }

    /// Populated trees that were made elsewhere.
    func moveIn() -> Names {
        var names: Names = []
        for tree in 0..<100 {
            for level in ["", "one", "one/two", "one/two/three"] {
                let directory = outside.appending("in\(tree)").appending(level)
                make(directory)
                for file in 0..<5 { names.append(write(directory, "m\(tree)-\(level.count)-\(file)")) }
            }
            rename(outside.appending("in\(tree)").string, root.appending("in\(tree)").string)
        }
        return names
    }

    /// One directory out, another in, then a file in the one that came.
    func crossed() -> Names {
        for number in 0..<200 {
            make(root.appending("leaves\(number)"))
            make(outside.appending("comes\(number)"))
        }
        usleep(300_000)
        return (0..<200).map { number in
            rename(root.appending("leaves\(number)").string, outside.appending("left\(number)").string)
            rename(outside.appending("comes\(number)").string, root.appending("came\(number)").string)
            return write(root.appending("came\(number)"), "crossed\(number)")
        }
    }

    /// More events than the kernel's queue holds, while nobody reads.
    func overflow(_ process: Int32) -> Names {
        let directory = root.appending("flood")
        make(directory)
        usleep(200_000)
        kill(process, SIGSTOP)
        usleep(20_000)
        let names = (0..<20_000).map { write(directory, "o\($0)") }
        kill(process, SIGCONT)
        return names
    }

    /// Delete and create again, round after round; a few times in one breath, and then with a file that stays until it is reported.
    ///
    /// A file that goes before its new directory could be watched nobody can report, on a busy machine less than on an idle one. It is no loss.
    func wipe(_ isReported: Awaiting) -> Names {
        let top = root.appending("wiped")
        return churn(rounds: 100, isReported) { name in
            try? FileManager.default.removeItem(atPath: top.string)
            make(top)
            make(top.appending("sub"))
            write(top.appending("sub"), name)
        }
    }

    /// The root itself is deleted and created again, in the same way.
    func recreateRoot(_ isReported: Awaiting) -> Names {
        churn(rounds: 100, isReported) { name in
            try? FileManager.default.removeItem(atPath: root.string)
            make(root)
            write(root, name)
        }
    }

    /// In each round a thing is done up to three times in one breath, and what the last one leaves must be reported.
    private func churn(rounds: Int, _ isReported: Awaiting, _ work: (_ name: String) -> Void) -> Names {
        var names: Names = []
        for number in 0..<rounds {
            for time in 0..<(number % 3) { work("passing\(number)-\(time)") }
            names.append("stays\(number)")
            work(names.last!)
            // One that is lost is counted by who asked; the next round may be heard of all the same.
            _ = isReported(names.last!)
        }
        return names
    }

    /// Renames of one file at a pace of a millisecond, and when each was done.
    func renames(_ count: Int) -> [(name: String, time: Int64)] {
        var present = root.appending("r")
        write(root, "r")
        usleep(50_000)
        var done: [(String, Int64)] = []
        var next = monotonic()
        for number in 0..<count {
            let name = "r\(number)"
            let target = root.appending(name)
            let (from, to) = (present.string, target.string)
            let time = monotonic()
            rename(from, to)
            done.append((name, time))
            present = target
            next += 1_000_000
            let left = next - monotonic()
            if left > 0 { usleep(UInt32(left / 1000)) }
        }
        return done
    }

    func make(_ directory: FilePath) { mkdir(directory.string, 0o755) }

    @discardableResult
    func write(_ directory: FilePath, _ name: String) -> String {
        let fd = open(directory.appending(name).string, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        if fd >= 0 {
            Glibc.write(fd, "x", 1)
            close(fd)
        }
        return name
    }

    /// A tree of directories, `width` in each.
    func makeTree(_ count: Int, width: Int = 50) {
        var made: [FilePath] = [root]
        var position = 0
        while made.count <= count {
            for number in 0..<width where made.count <= count {
                let directory = made[position].appending("d\(number)")
                make(directory)
                made.append(directory)
            }
            position += 1
        }
    }
}
