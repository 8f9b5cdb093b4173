// Command k6 is k6 with the signer of this folder built in: the scripts beside it import it as "k6/x/svc".
package main

import (
	"go.k6.io/k6/cmd"

	_ "svc-conformance/load/k6/signer" // registers k6/x/svc
)

func main() {
	cmd.Execute()
}
